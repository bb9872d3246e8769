-- Customers and vendors got several contacts each; the one address that they had becomes their first contact.

-- +goose Up
CREATE TABLE contacts (
    id          TEXT    NOT NULL PRIMARY KEY,
    customer_id TEXT    REFERENCES customers (id) ON DELETE CASCADE,
    vendor_id   TEXT    REFERENCES vendors (id) ON DELETE CASCADE,
    name        TEXT    NOT NULL,
    email       TEXT    NOT NULL,
    is_primary  INTEGER NOT NULL DEFAULT 0 CHECK (is_primary IN (0, 1)),
    CHECK ((customer_id IS NULL) <> (vendor_id IS NULL))
);

CREATE UNIQUE INDEX contacts_customer_email ON contacts (customer_id, LOWER(email)) WHERE customer_id IS NOT NULL;
CREATE UNIQUE INDEX contacts_vendor_email ON contacts (vendor_id, LOWER(email)) WHERE vendor_id IS NOT NULL;

INSERT INTO contacts (id, customer_id, name, email, is_primary)
SELECT 'customer-' || id, id, name, TRIM(email), 1
FROM customers
WHERE TRIM(email) <> '';

INSERT INTO contacts (id, vendor_id, name, email, is_primary)
SELECT 'vendor-' || id, id, name, TRIM(email), 1
FROM vendors
WHERE TRIM(email) <> '';

-- +goose Down
DROP TABLE contacts;
