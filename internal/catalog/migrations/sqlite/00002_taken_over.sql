-- +goose Up
-- 1 for a tenant that its people used before it came here: going Online, it is announced to nobody.
ALTER TABLE tenants ADD COLUMN taken_over INTEGER NOT NULL DEFAULT 0;
