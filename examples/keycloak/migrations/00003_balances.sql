-- +goose Up
CREATE VIEW balances AS
SELECT a.code, a.opening + coalesce(sum(e.amount), 0) AS balance
FROM accounts a LEFT JOIN entries e ON e.account_id = a.id
GROUP BY a.code, a.opening;
