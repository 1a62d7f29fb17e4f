-- What an import received and answered, in parts; and the trace that a job
-- goes on with.

-- +goose Up
CREATE TABLE spool (
    tenant uuid        NOT NULL,
    job    uuid        NOT NULL,
    name   text        NOT NULL COLLATE "C",
    part   integer     NOT NULL,
    at     timestamptz NOT NULL,
    data   bytea       NOT NULL,
    PRIMARY KEY (tenant, job, name, part)
);
CREATE INDEX spool_at ON spool (tenant, at);
ALTER TABLE spool ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON spool USING (tenant = nullif(current_setting('slipbox.tenant', true), '')::uuid);
ALTER TABLE jobs ADD COLUMN trace text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE jobs DROP COLUMN trace;
DROP TABLE spool;
