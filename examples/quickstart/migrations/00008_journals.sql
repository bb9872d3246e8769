-- +goose Up
CREATE TABLE journals (
    code            TEXT   NOT NULL PRIMARY KEY,
    name            TEXT   NOT NULL,
    kind            TEXT   NOT NULL CHECK (kind IN ('general', 'sales', 'purchases', 'bank', 'cash')),
    default_account TEXT   REFERENCES accounts (code),
    next_number     BIGINT NOT NULL DEFAULT 1 CHECK (next_number > 0)
);

-- +goose Down
DROP TABLE journals;
