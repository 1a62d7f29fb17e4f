-- How often a job was handed out since it was last given back: a job that ends
-- its process again and again must not be tried for ever.
--
-- With it come the reads of the queue that cross tenants: ids and a time only.

-- +goose Up
ALTER TABLE jobs ADD COLUMN claims integer NOT NULL DEFAULT 0;

-- When the next job is due, whosever it is.
CREATE INDEX jobs_not_before ON jobs (not_before NULLS FIRST) INCLUDE (stage, created_at) WHERE state = 'queued';
CREATE INDEX jobs_lease_until ON jobs (lease_until NULLS FIRST) WHERE state = 'running';

-- The path of the functions below, as in 00001.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Collections with a job that could be leased at a time; where there are more
-- than asked for chance chooses, so that none is left out for long. It steps
-- from collection to collection and reads a few rows of each, however many jobs
-- wait. The rules are those of a claim: a job waits or its lease is over, and of
-- the decides only the first may be leased, while none is held and none before
-- it is prepared without a failed try.
-- +goose StatementBegin
CREATE FUNCTION due_collections(at timestamptz, most integer) RETURNS TABLE (tenant uuid, collection uuid)
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
        AND (j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= at OR j.attempts = 0) OR j.state = 'running' AND j.lease_until <= at)
        ORDER BY j.seq LIMIT 1) f ON true
    -- The looks have limits, which keeps the planner from reading the jobs of all collections at once.
    WHERE (SELECT true FROM jobs j WHERE j.tenant = w.tenant AND j.collection = w.collection AND j.stage IN ('prepare', 'task') AND j.state IN ('queued', 'running')
        AND (j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= at) OR j.state = 'running' AND j.lease_until <= at) LIMIT 1)
    OR f.due
    AND (SELECT true FROM jobs o WHERE o.tenant = w.tenant AND o.collection = w.collection AND o.stage = 'decide'
        AND o.state = 'running' AND o.lease_until > at LIMIT 1) IS NULL
    AND (SELECT true FROM jobs o WHERE o.tenant = w.tenant AND o.collection = w.collection AND o.stage = 'prepare'
        AND o.seq < f.seq AND o.state IN ('queued', 'running') AND o.attempts = 0 LIMIT 1) IS NULL
    ORDER BY random() LIMIT most
$$;
-- +goose StatementEnd

-- When the next waiting job is due or the next lease ends; a time long past
-- when one is due at once, none when nothing waits.
-- +goose StatementBegin
CREATE FUNCTION next_due() RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT least(
        (SELECT coalesce(j.not_before, 'epoch') FROM jobs j WHERE j.state = 'queued' ORDER BY j.not_before NULLS FIRST LIMIT 1),
        (SELECT coalesce(j.lease_until, 'epoch') FROM jobs j WHERE j.state = 'running' ORDER BY j.lease_until NULLS FIRST LIMIT 1))
$$;
-- +goose StatementEnd

-- How many jobs of a stage wait, and since when the first; from jobs_not_before alone.
-- +goose StatementBegin
CREATE FUNCTION backlog(of text, OUT waiting bigint, OUT oldest timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT count(*), min(j.created_at) FROM jobs j WHERE j.state = 'queued' AND j.stage = of
$$;
-- +goose StatementEnd

REVOKE EXECUTE ON FUNCTION due_collections(timestamptz, integer), next_due(), backlog(text) FROM PUBLIC;

-- +goose Down
DROP FUNCTION backlog(text);
DROP FUNCTION next_due();
DROP FUNCTION due_collections(timestamptz, integer);
DROP INDEX jobs_lease_until;
DROP INDEX jobs_not_before;
ALTER TABLE jobs DROP COLUMN claims;
