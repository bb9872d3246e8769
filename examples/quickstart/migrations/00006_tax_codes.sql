-- +goose Up
CREATE TABLE tax_codes (
    code         TEXT          NOT NULL PRIMARY KEY,
    name         TEXT          NOT NULL,
    rate_percent NUMERIC(7, 4) NOT NULL CHECK (rate_percent BETWEEN 0 AND 100),
    account      TEXT          NOT NULL REFERENCES accounts (code),
    active       INTEGER       NOT NULL DEFAULT 1 CHECK (active IN (0, 1))
);

CREATE INDEX tax_codes_account ON tax_codes (account);

-- +goose Down
DROP TABLE tax_codes;
