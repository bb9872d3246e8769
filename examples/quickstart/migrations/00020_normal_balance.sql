-- On which side an account grows; reports show a balance on that side as positive.

-- +goose Up
ALTER TABLE accounts ADD COLUMN normal_balance TEXT NOT NULL DEFAULT 'debit'
    CHECK (normal_balance IN ('debit', 'credit'));

UPDATE accounts
SET normal_balance = 'credit'
WHERE type IN ('liability', 'equity', 'income');

-- +goose Down
ALTER TABLE accounts DROP COLUMN normal_balance;
