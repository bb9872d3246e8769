-- +goose Up
-- The first change that is rolled out with tenantctl.
ALTER TABLE bookings ADD COLUMN note TEXT;
