-- +goose Up
-- The next claim gets the number after this one. It only grows, so that a number is never given twice.
CREATE TABLE claim_numbers (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    last BIGINT NOT NULL
);

INSERT INTO claim_numbers (one, last) VALUES (1, 0);

-- The register of claims to custom hostnames, of all installations that share this edge. Rows are never deleted.
-- Times are milliseconds since 1970, 0 for never.
CREATE TABLE claims (
    number BIGINT PRIMARY KEY,
    hostname TEXT NOT NULL,
    installation TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    mark TEXT NOT NULL,
    target TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('pending', 'verified', 'expired', 'given_up')),
    requested_ms BIGINT NOT NULL,
    verified_ms BIGINT NOT NULL,
    given_up_ms BIGINT NOT NULL
);

CREATE INDEX claims_hostname ON claims (hostname);

-- One tenant at most is verified for a hostname.
CREATE UNIQUE INDEX claims_verified ON claims (hostname) WHERE state = 'verified';

CREATE UNIQUE INDEX claims_open ON claims (installation, tenant_id, hostname) WHERE state <> 'given_up';

-- What the edge reads to route a hostname.
CREATE TABLE bindings (
    hostname TEXT PRIMARY KEY,
    installation TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    mark TEXT NOT NULL,
    upstream TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('holding', 'open', 'suspended')),
    epoch BIGINT NOT NULL
);

CREATE INDEX bindings_tenant ON bindings (installation, tenant_id);

-- The last epoch in which somebody moved a tenant's hostnames. It outlives the hostnames: an old owner stays refused.
CREATE TABLE gates (
    installation TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    PRIMARY KEY (installation, tenant_id)
);
