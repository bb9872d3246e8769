-- +goose Up
CREATE TABLE audit_log (
    id           TEXT      NOT NULL PRIMARY KEY,
    happened_at  TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    user_id      TEXT      REFERENCES users (id), -- NULL: the system itself
    action       TEXT      NOT NULL,
    subject_type TEXT      NOT NULL,
    subject_id   TEXT      NOT NULL,
    details      TEXT      NOT NULL DEFAULT '{}'
);

CREATE INDEX audit_log_subject ON audit_log (subject_type, subject_id, happened_at);
CREATE INDEX audit_log_user ON audit_log (user_id, happened_at);

-- +goose Down
DROP TABLE audit_log;
