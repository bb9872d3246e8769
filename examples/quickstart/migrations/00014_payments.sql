-- +goose Up
CREATE TABLE payments (
    id               TEXT      NOT NULL PRIMARY KEY,
    direction        TEXT      NOT NULL CHECK (direction IN ('in', 'out')),
    account          TEXT      NOT NULL REFERENCES accounts (code),
    currency         TEXT      NOT NULL REFERENCES currencies (code),
    amount           BIGINT    NOT NULL CHECK (amount > 0),
    value_date       DATE      NOT NULL,
    reference        TEXT      NOT NULL DEFAULT '',
    journal_entry_id TEXT      REFERENCES journal_entries (id),
    created_at       TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE INDEX payments_account ON payments (account, value_date);

CREATE TABLE payment_allocations (
    id         TEXT   NOT NULL PRIMARY KEY,
    payment_id TEXT   NOT NULL REFERENCES payments (id) ON DELETE CASCADE,
    invoice_id TEXT   REFERENCES invoices (id),
    bill_id    TEXT   REFERENCES bills (id),
    amount     BIGINT NOT NULL CHECK (amount > 0),
    UNIQUE (payment_id, invoice_id),
    UNIQUE (payment_id, bill_id),
    CHECK ((invoice_id IS NULL) <> (bill_id IS NULL))
);

CREATE INDEX payment_allocations_invoice ON payment_allocations (invoice_id);
CREATE INDEX payment_allocations_bill ON payment_allocations (bill_id);

-- +goose Down
DROP TABLE payment_allocations;
DROP TABLE payments;
