-- +goose Up
CREATE TABLE bills (
    id               TEXT      NOT NULL PRIMARY KEY,
    vendor_id        TEXT      NOT NULL REFERENCES vendors (id),
    vendor_reference TEXT      NOT NULL,
    status           TEXT      NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'approved', 'paid', 'void')),
    currency         TEXT      NOT NULL REFERENCES currencies (code),
    bill_date        DATE      NOT NULL,
    due_date         DATE      NOT NULL,
    net              BIGINT    NOT NULL DEFAULT 0,
    tax              BIGINT    NOT NULL DEFAULT 0,
    approved_by      TEXT      REFERENCES users (id),
    journal_entry_id TEXT      REFERENCES journal_entries (id),
    created_at       TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE (vendor_id, vendor_reference),
    CHECK (status IN ('draft', 'void') OR approved_by IS NOT NULL)
);

CREATE INDEX bills_due ON bills (due_date) WHERE status = 'approved';

CREATE TABLE bill_lines (
    bill_id     TEXT    NOT NULL REFERENCES bills (id) ON DELETE CASCADE,
    line_number INTEGER NOT NULL CHECK (line_number > 0),
    description TEXT    NOT NULL,
    net         BIGINT  NOT NULL,
    tax_code    TEXT    REFERENCES tax_codes (code),
    account     TEXT    NOT NULL REFERENCES accounts (code),
    PRIMARY KEY (bill_id, line_number)
);

-- +goose Down
DROP TABLE bill_lines;
DROP TABLE bills;
