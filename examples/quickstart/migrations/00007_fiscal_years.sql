-- +goose Up
CREATE TABLE fiscal_years (
    id        TEXT NOT NULL PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    first_day DATE NOT NULL UNIQUE,
    last_day  DATE NOT NULL UNIQUE,
    status    TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'closed')),
    CHECK (first_day < last_day)
);

CREATE TABLE fiscal_periods (
    id             TEXT    NOT NULL PRIMARY KEY,
    fiscal_year_id TEXT    NOT NULL REFERENCES fiscal_years (id),
    number         INTEGER NOT NULL CHECK (number BETWEEN 1 AND 13), -- 13: the closing entries
    first_day      DATE    NOT NULL,
    last_day       DATE    NOT NULL,
    status         TEXT    NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'locked', 'closed')),
    UNIQUE (fiscal_year_id, number),
    CHECK (first_day <= last_day)
);

CREATE INDEX fiscal_periods_days ON fiscal_periods (first_day, last_day);

-- +goose Down
DROP TABLE fiscal_periods;
DROP TABLE fiscal_years;
