-- compatible-from: 1
-- Webhooks are told of what is in the log; a delivery is what was sent, not what it said. Older builds write without telling them.

-- +goose Up
CREATE TABLE webhooks (
    tenant     uuid NOT NULL,
    id         uuid NOT NULL,
    collection uuid NOT NULL, -- zero: every collection
    url        text NOT NULL COLLATE "C",
    events     json NOT NULL, -- empty: all
    secrets    bytea NOT NULL, -- encrypted
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
ALTER TABLE webhooks ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON webhooks USING (tenant = nullif(current_setting('slipbox.tenant', true), '')::uuid);
CREATE TABLE deliveries (
    tenant     uuid NOT NULL,
    webhook    uuid NOT NULL,
    id         uuid NOT NULL,
    collection uuid NOT NULL,
    revision   bigint NOT NULL,
    event      text NOT NULL COLLATE "C",
    state      text NOT NULL COLLATE "C",
    attempts   bigint NOT NULL,
    status     bigint NOT NULL, -- of the last answer; 0: there was none
    error      text NOT NULL COLLATE "C",
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    next_at    timestamptz,
    PRIMARY KEY (tenant, webhook, id)
);
ALTER TABLE deliveries ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON deliveries USING (tenant = nullif(current_setting('slipbox.tenant', true), '')::uuid);

-- Functions look for tables in this schema only, whatever the caller's path is. As before, and jobs that send are due, too.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION due_collections(at timestamptz, most integer) RETURNS TABLE (tenant uuid, collection uuid)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    WITH RECURSIVE w AS (
        (SELECT j.tenant, j.collection FROM jobs j WHERE j.state IN ('queued', 'running') ORDER BY j.tenant, j.collection LIMIT 1)
        UNION ALL
        SELECT n.tenant, n.collection FROM w CROSS JOIN LATERAL (
            SELECT j.tenant, j.collection FROM jobs j
            WHERE j.state IN ('queued', 'running') AND (j.tenant, j.collection) > (w.tenant, w.collection)
            ORDER BY j.tenant, j.collection LIMIT 1) n
    )
    SELECT w.tenant, w.collection FROM w
    LEFT JOIN LATERAL (
        SELECT j.seq, j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= at) OR j.state = 'running' AND j.lease_until <= at AS due
        FROM jobs j WHERE j.tenant = w.tenant AND j.collection = w.collection AND j.stage = 'decide' AND j.state IN ('queued', 'running')
        AND (j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= at OR j.attempts = 0 AND j.losses = 0) OR j.state = 'running' AND j.lease_until <= at)
        ORDER BY j.seq LIMIT 1) f ON true
    -- The looks have limits, which keeps the planner from reading the jobs of all collections at once.
    WHERE (SELECT true FROM jobs j WHERE j.tenant = w.tenant AND j.collection = w.collection AND j.stage IN ('prepare', 'task', 'send') AND j.state IN ('queued', 'running')
        AND (j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= at) OR j.state = 'running' AND j.lease_until <= at) LIMIT 1)
    OR f.due
    AND (SELECT true FROM jobs o WHERE o.tenant = w.tenant AND o.collection = w.collection AND o.stage = 'decide'
        AND o.state = 'running' AND o.lease_until > at LIMIT 1) IS NULL
    AND (SELECT true FROM jobs o WHERE o.tenant = w.tenant AND o.collection = w.collection AND o.stage = 'prepare'
        AND o.seq < f.seq AND o.state IN ('queued', 'running') AND o.attempts = 0 AND o.losses = 0 LIMIT 1) IS NULL
    ORDER BY random() LIMIT most
$$;
-- +goose StatementEnd

-- +goose Down
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION due_collections(at timestamptz, most integer) RETURNS TABLE (tenant uuid, collection uuid)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    WITH RECURSIVE w AS (
        (SELECT j.tenant, j.collection FROM jobs j WHERE j.state IN ('queued', 'running') ORDER BY j.tenant, j.collection LIMIT 1)
        UNION ALL
        SELECT n.tenant, n.collection FROM w CROSS JOIN LATERAL (
            SELECT j.tenant, j.collection FROM jobs j
            WHERE j.state IN ('queued', 'running') AND (j.tenant, j.collection) > (w.tenant, w.collection)
            ORDER BY j.tenant, j.collection LIMIT 1) n
    )
    SELECT w.tenant, w.collection FROM w
    LEFT JOIN LATERAL (
        SELECT j.seq, j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= at) OR j.state = 'running' AND j.lease_until <= at AS due
        FROM jobs j WHERE j.tenant = w.tenant AND j.collection = w.collection AND j.stage = 'decide' AND j.state IN ('queued', 'running')
        AND (j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= at OR j.attempts = 0 AND j.losses = 0) OR j.state = 'running' AND j.lease_until <= at)
        ORDER BY j.seq LIMIT 1) f ON true
    -- The looks have limits, which keeps the planner from reading the jobs of all collections at once.
    WHERE (SELECT true FROM jobs j WHERE j.tenant = w.tenant AND j.collection = w.collection AND j.stage IN ('prepare', 'task') AND j.state IN ('queued', 'running')
        AND (j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= at) OR j.state = 'running' AND j.lease_until <= at) LIMIT 1)
    OR f.due
    AND (SELECT true FROM jobs o WHERE o.tenant = w.tenant AND o.collection = w.collection AND o.stage = 'decide'
        AND o.state = 'running' AND o.lease_until > at LIMIT 1) IS NULL
    AND (SELECT true FROM jobs o WHERE o.tenant = w.tenant AND o.collection = w.collection AND o.stage = 'prepare'
        AND o.seq < f.seq AND o.state IN ('queued', 'running') AND o.attempts = 0 AND o.losses = 0 LIMIT 1) IS NULL
    ORDER BY random() LIMIT most
$$;
-- +goose StatementEnd
DELETE FROM jobs WHERE stage = 'send';
DROP TABLE deliveries;
DROP TABLE webhooks;
