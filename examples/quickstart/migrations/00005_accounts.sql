-- +goose Up
CREATE TABLE accounts (
    code       TEXT      NOT NULL PRIMARY KEY,
    parent     TEXT      REFERENCES accounts (code),
    name       TEXT      NOT NULL,
    type       TEXT      NOT NULL CHECK (type IN ('asset', 'liability', 'equity', 'income', 'expense')),
    postable   INTEGER   NOT NULL DEFAULT 1 CHECK (postable IN (0, 1)), -- 0: a heading that only sums up
    active     INTEGER   NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CHECK (parent <> code)
);

CREATE INDEX accounts_parent ON accounts (parent);
CREATE INDEX accounts_type ON accounts (type, code);

-- +goose Down
DROP TABLE accounts;
