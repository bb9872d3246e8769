-- +goose Up
-- In shared tables each row says whose it is, and a policy shows each tenant its own. tenantry_tenant() tells whose session
-- it is, by who has logged in.
CREATE TABLE roles (
    tenant_id text NOT NULL DEFAULT tenantry_tenant(),
    id        text NOT NULL,
    name      text NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
ALTER TABLE roles ENABLE ROW LEVEL SECURITY;
ALTER TABLE roles FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON roles USING (tenant_id = tenantry_tenant()) WITH CHECK (tenant_id = tenantry_tenant());
