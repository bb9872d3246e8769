-- +goose Up
ALTER TABLE invoices ADD COLUMN customer_reference TEXT NOT NULL DEFAULT '';
ALTER TABLE invoices ADD COLUMN reminded_at TIMESTAMP;
ALTER TABLE invoices ADD COLUMN contact_id TEXT REFERENCES contacts (id);

UPDATE invoices
SET contact_id = (SELECT c.id FROM contacts c WHERE c.customer_id = invoices.customer_id AND c.is_primary = 1)
WHERE status <> 'void';

CREATE INDEX invoices_reminders ON invoices (reminded_at) WHERE status = 'issued';

-- +goose Down
DROP INDEX invoices_reminders;
ALTER TABLE invoices DROP COLUMN contact_id;
ALTER TABLE invoices DROP COLUMN reminded_at;
ALTER TABLE invoices DROP COLUMN customer_reference;
