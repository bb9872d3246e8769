-- +goose Up
CREATE TABLE roles (
    id   text PRIMARY KEY,
    name text NOT NULL
);
