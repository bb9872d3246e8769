-- +goose Up
CREATE TABLE invoices (
    id               TEXT      NOT NULL PRIMARY KEY,
    number           TEXT      UNIQUE, -- given when the invoice is issued
    customer_id      TEXT      NOT NULL REFERENCES customers (id),
    status           TEXT      NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'issued', 'paid', 'void')),
    currency         TEXT      NOT NULL REFERENCES currencies (code),
    issue_date       DATE,
    due_date         DATE,
    net              BIGINT    NOT NULL DEFAULT 0,
    tax              BIGINT    NOT NULL DEFAULT 0,
    journal_entry_id TEXT      REFERENCES journal_entries (id),
    created_by       TEXT      NOT NULL REFERENCES users (id),
    created_at       TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CHECK (status IN ('draft', 'void') OR number IS NOT NULL),
    CHECK (due_date >= issue_date)
);

CREATE INDEX invoices_customer ON invoices (customer_id, issue_date);
CREATE INDEX invoices_open ON invoices (due_date) WHERE status = 'issued';

CREATE TABLE invoice_lines (
    invoice_id   TEXT           NOT NULL REFERENCES invoices (id) ON DELETE CASCADE,
    line_number  INTEGER        NOT NULL CHECK (line_number > 0),
    description  TEXT           NOT NULL,
    quantity     NUMERIC(14, 4) NOT NULL DEFAULT 1,
    unit_price   BIGINT         NOT NULL,
    net          BIGINT         NOT NULL,
    tax_code     TEXT           REFERENCES tax_codes (code),
    account      TEXT           NOT NULL REFERENCES accounts (code),
    PRIMARY KEY (invoice_id, line_number)
);

CREATE INDEX invoice_lines_account ON invoice_lines (account);

-- +goose Down
DROP TABLE invoice_lines;
DROP TABLE invoices;
