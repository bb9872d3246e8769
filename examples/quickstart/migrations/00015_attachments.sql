-- +goose Up
CREATE TABLE attachments (
    id           TEXT      NOT NULL PRIMARY KEY,
    subject_type TEXT      NOT NULL CHECK (subject_type IN ('journal_entry', 'invoice', 'bill', 'payment')),
    subject_id   TEXT      NOT NULL,
    file_name    TEXT      NOT NULL,
    media_type   TEXT      NOT NULL,
    size_bytes   BIGINT    NOT NULL CHECK (size_bytes >= 0),
    sha256       TEXT      NOT NULL CHECK (LENGTH(sha256) = 64),
    uploaded_by  TEXT      NOT NULL REFERENCES users (id),
    uploaded_at  TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE INDEX attachments_subject ON attachments (subject_type, subject_id);
CREATE INDEX attachments_content ON attachments (sha256);

-- +goose Down
DROP TABLE attachments;
