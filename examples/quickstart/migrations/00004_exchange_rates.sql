-- +goose Up
CREATE TABLE exchange_rates (
    from_currency TEXT            NOT NULL REFERENCES currencies (code),
    to_currency   TEXT            NOT NULL REFERENCES currencies (code),
    valid_from    DATE            NOT NULL,
    rate          NUMERIC(20, 10) NOT NULL CHECK (rate > 0),
    source        TEXT            NOT NULL DEFAULT 'manual',
    PRIMARY KEY (from_currency, to_currency, valid_from),
    CHECK (from_currency <> to_currency)
);

CREATE INDEX exchange_rates_to ON exchange_rates (to_currency, valid_from);

-- +goose Down
DROP TABLE exchange_rates;
