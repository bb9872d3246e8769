-- +goose Up
CREATE TABLE roles (
    id          TEXT NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    description TEXT NOT NULL DEFAULT ''
);

CREATE TABLE users (
    id          TEXT      NOT NULL PRIMARY KEY,
    identity_id TEXT      NOT NULL UNIQUE, -- the person's id in the identity system
    email       TEXT      NOT NULL,
    name        TEXT      NOT NULL,
    active      INTEGER   NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
    created_at  TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE UNIQUE INDEX users_email ON users (LOWER(email));

CREATE TABLE user_roles (
    user_id    TEXT      NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role_id    TEXT      NOT NULL REFERENCES roles (id),
    granted_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (user_id, role_id)
);

CREATE INDEX user_roles_role ON user_roles (role_id);

-- +goose Down
DROP TABLE user_roles;
DROP TABLE users;
DROP TABLE roles;
