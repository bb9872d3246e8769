-- +goose Up
CREATE TABLE leases (
    tenant_id   TEXT PRIMARY KEY,
    epoch       INTEGER NOT NULL,
    holder      TEXT NOT NULL,
    acquired_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tenants (
    tenant_id           TEXT PRIMARY KEY,
    spec                TEXT NOT NULL,
    display_name        TEXT NOT NULL,
    plan                TEXT NOT NULL,
    generation          INTEGER NOT NULL,
    observed_generation INTEGER NOT NULL DEFAULT 0,
    onboarding          INTEGER NOT NULL,
    status              TEXT NOT NULL CHECK (status IN
        ('provisioning', 'online', 'suspended', 'offboarding', 'offboarded', 'failed')),
    outputs             TEXT NOT NULL DEFAULT '',
    hostname            TEXT NOT NULL DEFAULT '',
    waiting_for         TEXT NOT NULL DEFAULT '',
    wait_since_ms       INTEGER NOT NULL DEFAULT 0,
    wait_until_ms       INTEGER NOT NULL DEFAULT 0,
    announced_ms        INTEGER NOT NULL DEFAULT 0,
    failure_code        TEXT NOT NULL DEFAULT '',
    failure_class       TEXT NOT NULL DEFAULT '',
    failure_step        TEXT NOT NULL DEFAULT '',
    failure_message     TEXT NOT NULL DEFAULT '',
    failure_remedy      TEXT NOT NULL DEFAULT '',
    attempts            INTEGER NOT NULL DEFAULT 0,
    open_run            INTEGER NOT NULL DEFAULT 0,
    last_reconcile_ms   INTEGER NOT NULL DEFAULT 0,
    next_reconcile_ms   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE conditions (
    tenant_id  TEXT NOT NULL REFERENCES tenants,
    step       TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('unknown', 'progressing', 'ready', 'failed')),
    reason     TEXT NOT NULL,
    message    TEXT NOT NULL,
    generation INTEGER NOT NULL,
    since_ms   INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    run_id          INTEGER PRIMARY KEY,
    tenant_id       TEXT NOT NULL REFERENCES tenants,
    onboarding      INTEGER NOT NULL,
    generation      INTEGER NOT NULL,
    epoch           INTEGER NOT NULL,
    action          TEXT NOT NULL,
    result          TEXT NOT NULL CHECK (result IN ('running', 'succeeded', 'failed', 'abandoned')),
    changes         TEXT NOT NULL DEFAULT '',
    failure_code    TEXT NOT NULL DEFAULT '',
    failure_class   TEXT NOT NULL DEFAULT '',
    failure_step    TEXT NOT NULL DEFAULT '',
    failure_message TEXT NOT NULL DEFAULT '',
    failure_remedy  TEXT NOT NULL DEFAULT '',
    started_ms      INTEGER NOT NULL,
    finished_ms     INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX runs_by_tenant ON runs (tenant_id, run_id);

CREATE TABLE journal (
    tenant_id   TEXT NOT NULL REFERENCES tenants,
    onboarding  INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    name        TEXT NOT NULL,
    position    INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('intended', 'created', 'adopted', 'removed')),
    external_id TEXT NOT NULL,
    epoch       INTEGER NOT NULL,
    changed_ms  INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, onboarding, kind, name)
) STRICT, WITHOUT ROWID;

-- One row a tenant: an order to its hostnames is absolute, so a newer one replaces an older one.
CREATE TABLE outbox (
    tenant_id  TEXT PRIMARY KEY REFERENCES tenants,
    number     INTEGER NOT NULL,
    state      TEXT NOT NULL,
    hostname   TEXT NOT NULL,
    epoch      INTEGER NOT NULL,
    ordered_ms INTEGER NOT NULL,
    acked_ms   INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- The primary key is the promise: one mail of a kind for each onboarding of a tenant, for ever.
CREATE TABLE mails (
    tenant_id       TEXT NOT NULL REFERENCES tenants,
    kind            TEXT NOT NULL,
    onboarding      INTEGER NOT NULL,
    message_id      TEXT NOT NULL,
    recipient       TEXT NOT NULL,
    recipient_name  TEXT NOT NULL,
    claims          TEXT NOT NULL,
    claim           TEXT NOT NULL DEFAULT '',
    attempts        INTEGER NOT NULL DEFAULT 0,
    uncertain       INTEGER NOT NULL DEFAULT 0,
    detail          TEXT NOT NULL DEFAULT '',
    queued_ms       INTEGER NOT NULL,
    next_attempt_ms INTEGER NOT NULL,
    sent_ms         INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, kind, onboarding)
) STRICT, WITHOUT ROWID;
CREATE INDEX mails_due ON mails (next_attempt_ms) WHERE sent_ms = 0;

CREATE TABLE history (
    sequence   INTEGER PRIMARY KEY,
    tenant_id  TEXT NOT NULL REFERENCES tenants,
    onboarding INTEGER NOT NULL,
    at_ms      INTEGER NOT NULL,
    epoch      INTEGER NOT NULL,
    run_id     INTEGER NOT NULL,
    event      TEXT NOT NULL,
    text       TEXT NOT NULL
) STRICT;
CREATE INDEX history_by_tenant ON history (tenant_id, sequence);
-- +goose StatementBegin
CREATE TRIGGER history_is_never_changed BEFORE UPDATE ON history
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER history_is_never_deleted BEFORE DELETE ON history
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
-- +goose StatementEnd
-- INSERT OR REPLACE deletes without the trigger above.
-- +goose StatementBegin
CREATE TRIGGER history_is_never_replaced BEFORE INSERT ON history
WHEN EXISTS (SELECT 1 FROM history WHERE sequence = NEW.sequence)
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
-- +goose StatementEnd
