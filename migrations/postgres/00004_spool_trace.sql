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

-- The path of the function below, as in 00001.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Tenants with parts that nobody needs any more: from before a time, and no body of
-- a job that has not ended. It steps from tenant to tenant.
-- +goose StatementBegin
CREATE FUNCTION stale_parts(before timestamptz, most integer) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    WITH RECURSIVE w AS (
        (SELECT s.tenant FROM spool s ORDER BY s.tenant LIMIT 1)
        UNION ALL
        SELECT n.tenant FROM w CROSS JOIN LATERAL (SELECT s.tenant FROM spool s WHERE s.tenant > w.tenant ORDER BY s.tenant LIMIT 1) n
    )
    SELECT w.tenant FROM w
    WHERE EXISTS (SELECT FROM spool s WHERE s.tenant = w.tenant AND s.at < before AND NOT (s.name = 'body' AND EXISTS (
        SELECT FROM jobs j WHERE j.tenant = s.tenant AND j.id = s.job AND j.state IN ('queued', 'running'))))
    LIMIT most
$$;
-- +goose StatementEnd

REVOKE EXECUTE ON FUNCTION stale_parts(timestamptz, integer) FROM PUBLIC;

-- +goose Down
DROP FUNCTION stale_parts(timestamptz, integer);
ALTER TABLE jobs DROP COLUMN trace;
DROP TABLE spool;
