-- +goose Up
CREATE TABLE journal_entries (
    id               TEXT      NOT NULL PRIMARY KEY,
    journal          TEXT      NOT NULL REFERENCES journals (code),
    number           BIGINT    NOT NULL,
    fiscal_period_id TEXT      NOT NULL REFERENCES fiscal_periods (id),
    entry_date       DATE      NOT NULL,
    description      TEXT      NOT NULL DEFAULT '',
    status           TEXT      NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'posted')),
    reverses         TEXT      REFERENCES journal_entries (id),
    created_by       TEXT      NOT NULL REFERENCES users (id),
    created_at       TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    posted_at        TIMESTAMP,
    UNIQUE (journal, number),
    CHECK ((status = 'posted') = (posted_at IS NOT NULL))
);

CREATE INDEX journal_entries_period ON journal_entries (fiscal_period_id, entry_date);
CREATE UNIQUE INDEX journal_entries_reverses ON journal_entries (reverses) WHERE reverses IS NOT NULL;

-- Amounts are whole minor units (cents), so that no sum is ever rounded.
CREATE TABLE journal_lines (
    entry_id    TEXT    NOT NULL REFERENCES journal_entries (id) ON DELETE CASCADE,
    line_number INTEGER NOT NULL CHECK (line_number > 0),
    account     TEXT    NOT NULL REFERENCES accounts (code),
    debit       BIGINT  NOT NULL DEFAULT 0 CHECK (debit >= 0),
    credit      BIGINT  NOT NULL DEFAULT 0 CHECK (credit >= 0),
    currency    TEXT    NOT NULL REFERENCES currencies (code),
    tax_code    TEXT    REFERENCES tax_codes (code),
    description TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (entry_id, line_number),
    CHECK ((debit = 0) <> (credit = 0))
);

CREATE INDEX journal_lines_account ON journal_lines (account);

-- +goose Down
DROP TABLE journal_lines;
DROP TABLE journal_entries;
