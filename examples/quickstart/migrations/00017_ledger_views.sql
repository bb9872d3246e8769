-- +goose Up
CREATE VIEW trial_balance AS
SELECT
    e.fiscal_period_id,
    l.account,
    a.name,
    l.currency,
    SUM(l.debit)            AS debit,
    SUM(l.credit)           AS credit,
    SUM(l.debit - l.credit) AS balance
FROM journal_lines l
JOIN journal_entries e ON e.id = l.entry_id
JOIN accounts a ON a.code = l.account
WHERE e.status = 'posted'
GROUP BY e.fiscal_period_id, l.account, a.name, l.currency;

CREATE VIEW open_invoices AS
SELECT
    i.id,
    i.number,
    i.customer_id,
    i.currency,
    i.due_date,
    i.net + i.tax                              AS total,
    i.net + i.tax - COALESCE(SUM(p.amount), 0) AS outstanding
FROM invoices i
LEFT JOIN payment_allocations p ON p.invoice_id = i.id
WHERE i.status = 'issued'
GROUP BY i.id, i.number, i.customer_id, i.currency, i.due_date, i.net, i.tax;

-- +goose Down
DROP VIEW open_invoices;
DROP VIEW trial_balance;
