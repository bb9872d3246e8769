-- +goose Up
CREATE TABLE accounts (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    code      text NOT NULL UNIQUE,
    name      text NOT NULL,
    is_active boolean NOT NULL DEFAULT true,
    opening   numeric(14, 2) NOT NULL DEFAULT 0
);

CREATE TABLE entries (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id bigint NOT NULL REFERENCES accounts,
    booked_on  date NOT NULL,
    amount     numeric(14, 2) NOT NULL
);

CREATE INDEX entries_by_account ON entries (account_id, booked_on);
