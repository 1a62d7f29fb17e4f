-- What an import received and answered, in parts; and the trace that a job
-- goes on with.

-- +goose Up
CREATE TABLE spool (
    tenant BLOB    NOT NULL,
    job    BLOB    NOT NULL,
    name   TEXT    NOT NULL,
    part   INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    PRIMARY KEY (tenant, job, name, part)
) STRICT;
CREATE INDEX spool_at ON spool (tenant, at);
ALTER TABLE jobs ADD COLUMN trace TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE jobs DROP COLUMN trace;
DROP TABLE spool;
