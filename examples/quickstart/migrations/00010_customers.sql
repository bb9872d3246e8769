-- +goose Up
CREATE TABLE customers (
    id            TEXT      NOT NULL PRIMARY KEY,
    number        TEXT      NOT NULL UNIQUE,
    name          TEXT      NOT NULL,
    email         TEXT,
    tax_number    TEXT,
    currency      TEXT      NOT NULL REFERENCES currencies (code),
    receivable    TEXT      NOT NULL REFERENCES accounts (code),
    payment_days  INTEGER   NOT NULL DEFAULT 30 CHECK (payment_days >= 0),
    credit_limit  BIGINT    CHECK (credit_limit >= 0),
    archived_at   TIMESTAMP,
    created_at    TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE INDEX customers_name ON customers (LOWER(name));

-- +goose Down
DROP TABLE customers;
