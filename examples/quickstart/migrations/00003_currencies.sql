-- +goose Up
CREATE TABLE currencies (
    code     TEXT    NOT NULL PRIMARY KEY CHECK (LENGTH(code) = 3), -- ISO 4217
    name     TEXT    NOT NULL,
    decimals INTEGER NOT NULL DEFAULT 2 CHECK (decimals BETWEEN 0 AND 4)
);

-- +goose Down
DROP TABLE currencies;
