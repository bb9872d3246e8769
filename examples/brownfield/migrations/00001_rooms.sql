-- +goose Up
CREATE TABLE rooms (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);
