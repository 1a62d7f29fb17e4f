-- compatible-from: 1
-- The tables and columns of the embedded engine, in Postgres' types. The zero id
-- means none; a NULL time means none. All keys except those of tenants and
-- signing_keys start with the tenant, so that data can be distributed by tenant.
--
-- A version is live at b when from_rev <= b AND to_rev > b; to_rev of an open
-- version is the greatest integer.
--
-- Row-level security limits the serving role to the tenant of its transaction.
-- The owner is exempt: migrations and dumps must see all rows.

-- +goose Up
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE tenants (
    id         uuid        NOT NULL PRIMARY KEY,
    name       text        NOT NULL COLLATE "C",
    state      text        NOT NULL,
    limits     jsonb       NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX tenants_name ON tenants (name) WHERE state <> 'deleting';

CREATE TABLE signing_keys (
    kid        text        NOT NULL COLLATE "C" PRIMARY KEY,
    public     bytea       NOT NULL,
    wrapped    bytea       NOT NULL,
    created_at timestamptz NOT NULL,
    retires_at timestamptz,
    expires_at timestamptz
);

CREATE TABLE agents (
    tenant       uuid        NOT NULL,
    id           uuid        NOT NULL,
    name         text        NOT NULL COLLATE "C",
    display_name text        NOT NULL,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX agents_name ON agents (tenant, name);

-- Keys of the platform have the zero tenant.
CREATE TABLE api_keys (
    tenant      uuid        NOT NULL,
    id          uuid        NOT NULL,
    name        text        NOT NULL,
    prefix      text        NOT NULL,
    hash        bytea       NOT NULL,
    permissions text[]      NOT NULL,
    agent       uuid        NOT NULL,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz,
    revoked_at  timestamptz,
    rotated_to  uuid        NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE TABLE collections (
    tenant          uuid        NOT NULL,
    id              uuid        NOT NULL,
    agent           uuid        NOT NULL, -- zero: a shared base
    name            text        NOT NULL COLLATE "C",
    display_name    text        NOT NULL,
    policy          text        NOT NULL,
    policy_config   json,
    embedder        text        NOT NULL,
    dim             integer     NOT NULL,
    metadata        jsonb,
    ephemeral       boolean     NOT NULL,
    state           text        NOT NULL,
    parent          uuid        NOT NULL,
    parent_revision bigint      NOT NULL,
    expires_at      timestamptz,
    created_at      timestamptz NOT NULL,
    -- the job that embedded all notes again with another embedder; zero: vectors came with the notes
    reembedded      uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX collections_name ON collections (tenant, name, agent) WHERE state <> 'deleting';
CREATE INDEX collections_parent ON collections (tenant, parent) WHERE parent <> '00000000-0000-0000-0000-000000000000';
CREATE INDEX collections_expiry ON collections (expires_at) WHERE expires_at IS NOT NULL AND state <> 'deleting';
CREATE INDEX collections_ephemeral ON collections (tenant, id) WHERE ephemeral AND state <> 'deleting';

-- What every write changes, in a narrow row of its own with room for its next
-- versions in the same page. The v_ columns count what is visible at the head, and
-- are right when counted is true; the s_ columns count the rows stored in the
-- collection's own layer.
CREATE TABLE collection_heads (
    tenant       uuid    NOT NULL,
    collection   uuid    NOT NULL,
    head         bigint  NOT NULL,
    floor        bigint  NOT NULL,
    origin       bigint  NOT NULL, -- changesets of the collection's own log begin at origin + 1
    job_seq      bigint  NOT NULL,
    evolved_adds bigint  NOT NULL,
    erase_epoch  bigint  NOT NULL,
    counted      boolean NOT NULL,
    v_notes      bigint  NOT NULL,
    v_links      bigint  NOT NULL,
    v_pending    bigint  NOT NULL,
    v_in_review  bigint  NOT NULL,
    v_bytes      bigint  NOT NULL,
    v_kinds      jsonb   NOT NULL,
    s_notes      bigint  NOT NULL,
    s_links      bigint  NOT NULL,
    s_bytes      bigint  NOT NULL,
    PRIMARY KEY (tenant, collection)
) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE changesets (
    tenant      uuid        NOT NULL,
    collection  uuid        NOT NULL,
    revision    bigint      NOT NULL,
    at          timestamptz NOT NULL,
    actor       text        NOT NULL,
    job         uuid        NOT NULL,
    trigger     uuid        NOT NULL,
    cause       text        NOT NULL,
    undoes      bigint      NOT NULL,
    merged_from json,
    PRIMARY KEY (tenant, collection, revision)
);

CREATE TABLE notes (
    tenant      uuid             NOT NULL,
    layer       uuid             NOT NULL, -- the collection whose log holds it
    id          uuid             NOT NULL,
    from_rev    bigint           NOT NULL,
    to_rev      bigint           NOT NULL,
    deleted     boolean          NOT NULL, -- a tombstone
    kind        text             NOT NULL COLLATE "C",
    state       text             NOT NULL COLLATE "C",
    key         text             NOT NULL COLLATE "C",
    importance  double precision NOT NULL,
    occurred_at timestamptz,
    created_at  timestamptz,
    updated_at  timestamptz      NOT NULL,
    bytes       bigint           NOT NULL,
    embedder    text             NOT NULL, -- of the vector written with the note; '': the vector is still to be made
    category    text             NOT NULL COLLATE "C",
    context     text             NOT NULL,
    keywords    text[]           NOT NULL COLLATE "C",
    tags        text[]           NOT NULL COLLATE "C",
    attributes  jsonb,
    error       text             NOT NULL,
    analyst     text             NOT NULL,
    supplied    text[]           NOT NULL,
    provenance  jsonb,
    content     text             NOT NULL,
    PRIMARY KEY (tenant, layer, id, from_rev)
);
-- Only for the rows of one id: with an ordered index by (tenant, id) the planner
-- may page through all layers of a tenant to find one layer.
CREATE INDEX notes_note ON notes USING hash (id);
CREATE INDEX notes_key ON notes (tenant, layer, kind, key) WHERE key <> '';
CREATE INDEX notes_began ON notes (tenant, layer, from_rev, id);
CREATE INDEX notes_ended ON notes (tenant, layer, to_rev) WHERE to_rev < 9223372036854775807;
-- Messages are paged in the order in which they were said.
CREATE INDEX notes_said ON notes (tenant, layer, occurred_at, id) WHERE kind = 'message';
CREATE INDEX notes_waiting ON notes (tenant, layer, to_rev) WHERE state IN ('raw', 'pending') AND NOT deleted;

CREATE TABLE links (
    tenant     uuid             NOT NULL,
    layer      uuid             NOT NULL,
    source     uuid             NOT NULL,
    relation   text             NOT NULL COLLATE "C",
    target     uuid             NOT NULL,
    from_rev   bigint           NOT NULL,
    to_rev     bigint           NOT NULL,
    deleted    boolean          NOT NULL,
    confidence double precision NOT NULL,
    attributes jsonb,
    created_at timestamptz      NOT NULL,
    PRIMARY KEY (tenant, layer, source, relation, target, from_rev)
);
CREATE INDEX links_target ON links (tenant, layer, target);

-- A narrow table: an exact scan reads nothing else. Plain storage keeps a
-- vector in its row, which holds up to 3,900 elements.
CREATE TABLE vectors (
    tenant   uuid    NOT NULL,
    layer    uuid    NOT NULL,
    note     uuid    NOT NULL,
    from_rev bigint  NOT NULL,
    embedder text    NOT NULL COLLATE "C",
    vec      halfvec NOT NULL,
    tokens   bytea   NOT NULL DEFAULT '', -- directions of the note's tokens, 64 signed bytes each; empty: none
    PRIMARY KEY (tenant, layer, note, from_rev, embedder)
);
ALTER TABLE vectors ALTER COLUMN vec SET STORAGE PLAIN;
-- Token directions do not compress, and a scan of vectors should not read long ones.
ALTER TABLE vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;

CREATE TABLE usage (
    tenant       uuid             NOT NULL,
    layer        uuid             NOT NULL,
    note         uuid             NOT NULL,
    access_count bigint           NOT NULL,
    last_access  timestamptz,
    strength     double precision NOT NULL,
    heat         double precision NOT NULL,
    PRIMARY KEY (tenant, layer, note)
) WITH (fillfactor = 70);

CREATE TABLE jobs (
    tenant      uuid        NOT NULL,
    id          uuid        NOT NULL,
    collection  uuid        NOT NULL,
    note        uuid        NOT NULL,
    kind        text        NOT NULL,
    stage       text        NOT NULL COLLATE "C",
    state       text        NOT NULL COLLATE "C",
    seq         bigint      NOT NULL,
    attempts    integer     NOT NULL,
    payload     json,
    result      json,
    progress    json,
    error       text        NOT NULL,
    not_before  timestamptz,
    lease       uuid        NOT NULL,
    lease_until timestamptz,
    created_at  timestamptz NOT NULL,
    finished_at timestamptz,
    -- how often the job was handed out since it was last given back: a job that
    -- crashes its process again and again must not be retried for ever
    claims      integer     NOT NULL DEFAULT 0,
    trace       text        NOT NULL DEFAULT '', -- the trace context of the request that enqueued it
    PRIMARY KEY (tenant, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX jobs_waiting ON jobs (tenant, collection, stage, seq) WHERE state IN ('queued', 'running');
-- The few leased jobs, so that finding one does not read all that wait.
CREATE INDEX jobs_running ON jobs (tenant, collection, stage) WHERE state = 'running';
-- When the next job of any tenant is due.
CREATE INDEX jobs_not_before ON jobs (not_before NULLS FIRST) INCLUDE (stage, created_at) WHERE state = 'queued';
CREATE INDEX jobs_lease_until ON jobs (lease_until NULLS FIRST) WHERE state = 'running';
CREATE INDEX jobs_collection ON jobs (tenant, collection, id);
CREATE INDEX jobs_note ON jobs (tenant, note) WHERE note <> '00000000-0000-0000-0000-000000000000';

-- Bodies that imports received and answers that they gave, in parts.
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

CREATE TABLE reviews (
    tenant     uuid             NOT NULL,
    id         uuid             NOT NULL,
    collection uuid             NOT NULL,
    job        uuid             NOT NULL,
    trigger    uuid             NOT NULL,
    state      text             NOT NULL,
    confidence double precision NOT NULL,
    changes    json             NOT NULL,
    read       json             NOT NULL,
    revision   bigint           NOT NULL,
    reason     text             NOT NULL,
    actor      text             NOT NULL,
    created_at timestamptz      NOT NULL,
    closed_at  timestamptz,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX reviews_collection ON reviews (tenant, collection, state);

CREATE TABLE audit (
    tenant uuid        NOT NULL,
    id     bigint      NOT NULL,
    at     timestamptz NOT NULL,
    actor  text        NOT NULL,
    action text        NOT NULL,
    target text        NOT NULL,
    detail jsonb,
    PRIMARY KEY (tenant, id)
);
-- Audit ids only have to grow: a sequence makes no transaction wait for another.
CREATE SEQUENCE audit_ids;

CREATE TABLE idempotency (
    tenant    uuid        NOT NULL,
    agent     uuid        NOT NULL,
    method    text        NOT NULL,
    path      text        NOT NULL,
    key       text        NOT NULL COLLATE "C",
    body_hash bytea       NOT NULL,
    ids       json,
    at        timestamptz NOT NULL,
    PRIMARY KEY (tenant, agent, method, path, key)
);
CREATE INDEX idempotency_at ON idempotency (tenant, at);

CREATE TABLE model_use (
    tenant            uuid   NOT NULL,
    day               text   NOT NULL COLLATE "C",
    collection        uuid   NOT NULL,
    purpose           text   NOT NULL,
    calls             bigint NOT NULL,
    prompt_tokens     bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    PRIMARY KEY (tenant, day, collection, purpose)
);

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['agents', 'api_keys', 'collections', 'collection_heads', 'changesets', 'notes', 'links', 'vectors',
        'usage', 'jobs', 'reviews', 'audit', 'idempotency', 'model_use', 'spool'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY own_tenant ON %I USING (tenant = nullif(current_setting(''slipbox.tenant'', true), '''')::uuid)', t);
    END LOOP;
END $$;
-- +goose StatementEnd

-- The reads that cross tenants. They run with the owner's rights and return ids,
-- times and counts only. They search this schema first and pg_temp last: pg_temp
-- comes first when it is not named, and a view that a caller creates there would
-- be read with the owner's rights.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Collections that have expired.
-- +goose StatementBegin
CREATE FUNCTION expired_collections(at timestamptz, most integer) RETURNS TABLE (tenant uuid, collection uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT c.tenant, c.id FROM collections c WHERE c.expires_at <= at AND c.state <> 'deleting' ORDER BY c.expires_at, c.id LIMIT most
$$;
-- +goose StatementEnd

-- Collections that end with their process.
-- +goose StatementBegin
CREATE FUNCTION ephemeral_collections(most integer) RETURNS TABLE (tenant uuid, collection uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT c.tenant, c.id FROM collections c WHERE c.ephemeral AND c.state <> 'deleting' ORDER BY c.tenant, c.id LIMIT most
$$;
-- +goose StatementEnd

-- Collections with a job that can be leased at a time. When there are more than
-- asked for, they are chosen at random, so that no collection starves. The query steps from
-- collection to collection and reads a few rows of each, however many jobs wait.
-- The rules are those of a claim: a job is leased when it waits or when its lease
-- has expired. Of the jobs in stage decide only the first is leased, and only while
-- no other decide is leased and no earlier job is still to be prepared for the
-- first time.
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

-- When the next waiting job is due or the next lease ends: a time long past when
-- a job is due at once, NULL when nothing waits.
-- +goose StatementBegin
CREATE FUNCTION next_due() RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT least(
        (SELECT coalesce(j.not_before, 'epoch') FROM jobs j WHERE j.state = 'queued' ORDER BY j.not_before NULLS FIRST LIMIT 1),
        (SELECT coalesce(j.lease_until, 'epoch') FROM jobs j WHERE j.state = 'running' ORDER BY j.lease_until NULLS FIRST LIMIT 1))
$$;
-- +goose StatementEnd

-- How many jobs of a stage wait, and since when the oldest; reads the index jobs_not_before only.
-- +goose StatementBegin
CREATE FUNCTION backlog(of text, OUT waiting bigint, OUT oldest timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT count(*), min(j.created_at) FROM jobs j WHERE j.state = 'queued' AND j.stage = of
$$;
-- +goose StatementEnd

-- Tenants with parts that are no longer needed: older than a time, and not the body
-- of a job that has not ended. The query steps from tenant to tenant.
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

REVOKE EXECUTE ON FUNCTION expired_collections(timestamptz, integer), ephemeral_collections(integer),
    due_collections(timestamptz, integer), next_due(), backlog(text), stale_parts(timestamptz, integer) FROM PUBLIC;

-- +goose Down
DROP FUNCTION stale_parts(timestamptz, integer);
DROP FUNCTION backlog(text);
DROP FUNCTION next_due();
DROP FUNCTION due_collections(timestamptz, integer);
DROP FUNCTION ephemeral_collections(integer);
DROP FUNCTION expired_collections(timestamptz, integer);
DROP TABLE model_use;
DROP TABLE idempotency;
DROP SEQUENCE audit_ids;
DROP TABLE audit;
DROP TABLE reviews;
DROP TABLE spool;
DROP TABLE jobs;
DROP TABLE usage;
DROP TABLE vectors;
DROP TABLE links;
DROP TABLE notes;
DROP TABLE changesets;
DROP TABLE collection_heads;
DROP TABLE collections;
DROP TABLE api_keys;
DROP TABLE agents;
DROP TABLE signing_keys;
DROP TABLE tenants;
