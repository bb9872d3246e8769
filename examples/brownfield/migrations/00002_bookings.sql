-- +goose Up
CREATE TABLE bookings (
    id      INTEGER PRIMARY KEY,
    room_id INTEGER NOT NULL REFERENCES rooms (id),
    day     TEXT NOT NULL,
    UNIQUE (room_id, day)
);
