-- +goose Up
CREATE TABLE vendors (
    id           TEXT      NOT NULL PRIMARY KEY,
    number       TEXT      NOT NULL UNIQUE,
    name         TEXT      NOT NULL,
    email        TEXT,
    tax_number   TEXT,
    iban         TEXT,
    currency     TEXT      NOT NULL REFERENCES currencies (code),
    payable      TEXT      NOT NULL REFERENCES accounts (code),
    payment_days INTEGER   NOT NULL DEFAULT 30 CHECK (payment_days >= 0),
    archived_at  TIMESTAMP,
    created_at   TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE INDEX vendors_name ON vendors (LOWER(name));

-- +goose Down
DROP TABLE vendors;
