-- +goose Up
CREATE TABLE roles (
    id   TEXT PRIMARY KEY,
    name TEXT NOT NULL
);

CREATE TABLE users (
    id          TEXT PRIMARY KEY,
    identity_id TEXT NOT NULL,
    email       TEXT NOT NULL,
    role_id     TEXT NOT NULL REFERENCES roles (id)
);

-- +goose Down
DROP TABLE users;
DROP TABLE roles;
