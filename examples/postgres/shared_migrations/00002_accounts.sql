-- +goose Up
CREATE TABLE accounts (
    tenant_id text NOT NULL DEFAULT tenantry_tenant(),
    code      text NOT NULL,
    name      text NOT NULL,
    is_active boolean NOT NULL DEFAULT true,
    opening   numeric(14, 2) NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, code)
);
ALTER TABLE accounts ENABLE ROW LEVEL SECURITY;
ALTER TABLE accounts FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON accounts USING (tenant_id = tenantry_tenant()) WITH CHECK (tenant_id = tenantry_tenant());

CREATE TABLE entries (
    tenant_id    text NOT NULL DEFAULT tenantry_tenant(),
    id           bigint GENERATED ALWAYS AS IDENTITY,
    account_code text NOT NULL,
    booked_on    date NOT NULL,
    amount       numeric(14, 2) NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, account_code) REFERENCES accounts
);
ALTER TABLE entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE entries FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON entries USING (tenant_id = tenantry_tenant()) WITH CHECK (tenant_id = tenantry_tenant());
