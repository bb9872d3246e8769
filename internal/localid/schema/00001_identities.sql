-- +goose Up
-- An organization's name is its alias, too, and never changes.
CREATE TABLE organizations (
    id                  TEXT PRIMARY KEY,
    name                TEXT NOT NULL UNIQUE,
    display_name        TEXT NOT NULL,
    enabled             INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    incarnation         TEXT NOT NULL DEFAULT '',
    -- Who administers it, and how the tenant that owns the organization calls them. It is no foreign key: an account
    -- may go, and that must be seen.
    administrator_id    TEXT NOT NULL DEFAULT '',
    administrator_email TEXT NOT NULL DEFAULT '',
    administrator_name  TEXT NOT NULL DEFAULT '',
    mark                TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX organizations_administrator ON organizations (administrator_id);

CREATE TABLE applications (
    id             TEXT PRIMARY KEY,
    client_id      TEXT NOT NULL UNIQUE,
    redirect_uris  TEXT NOT NULL DEFAULT '[]', -- a JSON array
    enabled        INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    secret_hash    TEXT NOT NULL DEFAULT '',   -- SHA-256 in hex; the secret itself is derived and stands nowhere
    secret_key_id  TEXT NOT NULL DEFAULT '',
    secret_version INTEGER NOT NULL DEFAULT 0,
    incarnation    TEXT NOT NULL DEFAULT '',
    previous_hash  TEXT NOT NULL DEFAULT '',   -- accepted, too, until previous_until
    previous_until INTEGER NOT NULL DEFAULT 0, -- seconds since 1970
    mark           TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE roles (
    application_id TEXT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    PRIMARY KEY (application_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    id            TEXT PRIMARY KEY,
    email         TEXT NOT NULL,
    email_key     TEXT NOT NULL UNIQUE, -- the address in lower case
    name          TEXT NOT NULL,
    password_hash TEXT NOT NULL DEFAULT '',
    owner         TEXT NOT NULL DEFAULT '', -- installation/tenant: where to look; only the mark proves
    mark          TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX users_owner ON users (owner);

CREATE TABLE memberships (
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id         TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    managed         INTEGER NOT NULL DEFAULT 0 CHECK (managed IN (0, 1)), -- 1: made, and to be removed, by this tool
    PRIMARY KEY (organization_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_user ON memberships (user_id);

CREATE TABLE invitations (
    token_hash      TEXT PRIMARY KEY, -- SHA-256 in hex
    user_id         TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    expires_at      INTEGER NOT NULL -- seconds since 1970
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_user ON invitations (user_id);
CREATE INDEX invitations_organization ON invitations (organization_id);
