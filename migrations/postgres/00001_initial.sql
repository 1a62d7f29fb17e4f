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
    created_at timestamptz NOT NULL,
    allowed_hosts text        NOT NULL DEFAULT '' -- hosts that webhooks may reach, separated by commas
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
    -- the ids of an application whose collections the key is limited to; '' is any. The hash covers them
    external_user  text        NOT NULL DEFAULT '' COLLATE "C",
    external_agent text        NOT NULL DEFAULT '' COLLATE "C",
    external_app   text        NOT NULL DEFAULT '' COLLATE "C",
    external_run   text        NOT NULL DEFAULT '' COLLATE "C",
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
    -- what applications call the collection by: their own ids of a user, an agent, a program and a run
    external_user   text COLLATE "C" NOT NULL DEFAULT '',
    external_agent  text COLLATE "C" NOT NULL DEFAULT '',
    external_app    text COLLATE "C" NOT NULL DEFAULT '',
    external_run    text COLLATE "C" NOT NULL DEFAULT '',
    -- A fork may hold what its ancestors showed it. lineage lists them, nearest first, with the revision up to which; fork_of is the
    -- collection that it was forked from, while it no longer reads it; zero: that is the parent
    fork_of         uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    fork_revision   bigint      NOT NULL DEFAULT 0,
    lineage         text        NOT NULL DEFAULT '' COLLATE "C",
    -- what collections are searched by: the folded name, title and ids; '' where it is not known: such a row is read
    -- and compared by its reader
    words           text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX collections_name ON collections (tenant, name, agent) WHERE state <> 'deleting';
CREATE INDEX collections_parent ON collections (tenant, parent) WHERE parent <> '00000000-0000-0000-0000-000000000000';
CREATE INDEX collections_expiry ON collections (expires_at) WHERE expires_at IS NOT NULL AND state <> 'deleting';
CREATE INDEX collections_ephemeral ON collections (tenant, id) WHERE ephemeral AND state <> 'deleting';
CREATE UNIQUE INDEX collections_external ON collections (tenant, external_user, external_agent, external_app, external_run)
    WHERE external_user || external_agent || external_app || external_run <> '' AND state <> 'deleting';
CREATE INDEX collections_flattened ON collections (tenant, fork_of) WHERE lineage <> '';

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
    next_expiry  timestamptz, -- when the first note expires; null: never. It may be earlier, never later
    -- moved at most once a minute, so that most writes change no index
    written_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, collection)
) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX heads_expiry ON collection_heads (next_expiry) WHERE next_expiry IS NOT NULL;
CREATE INDEX heads_written ON collection_heads (tenant, written_at, collection);

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
CREATE INDEX changesets_merged ON changesets (tenant, collection, revision) WHERE merged_from IS NOT NULL;

-- Named revisions.
CREATE TABLE snapshots (
    tenant     uuid        NOT NULL,
    collection uuid        NOT NULL,
    name       text        NOT NULL COLLATE "C",
    revision   bigint      NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, collection, name)
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
    digest      bigint           NOT NULL DEFAULT 0, -- of what duplicates of a note share
    -- how many seconds the clock of who wrote the note was ahead of UTC at occurred_at: the day of a note is that of its writer
    occurred_offset integer          NOT NULL DEFAULT 0,
    expires_at  timestamptz, -- null: never
    PRIMARY KEY (tenant, layer, id, from_rev)
);
-- Each statement has one index that leads it to its rows, and none that looks as good to a planner that knows nothing of a tenant
-- yet: such a planner expects one row wherever the tenant and the layer are given, and takes any index that begins with them.
CREATE INDEX notes_key ON notes (tenant, layer, kind, key) WHERE key <> '';
-- A note that is found by its key has a version for each of its changes. In this order the newest is read first, and no other.
CREATE INDEX notes_newest_by_key ON notes (tenant, layer, kind, key, from_rev) WHERE key <> '';
-- The condition holds for all rows, and only the statement that reads the log has it.
CREATE INDEX notes_log ON notes (tenant, layer, from_rev, id) WHERE bytes >= 0;
CREATE INDEX notes_ended ON notes (tenant, layer, to_rev) WHERE to_rev < 9223372036854775807;
-- Messages are paged in the order in which they were said.
CREATE INDEX notes_said ON notes (tenant, layer, occurred_at, id) WHERE kind = 'message';
CREATE INDEX notes_waiting ON notes (tenant, layer, to_rev) WHERE state IN ('raw', 'pending') AND NOT deleted;
-- Summaries, sessions, facts and the like are paged without reading messages. "bytes >= 0" holds for all rows: it keeps other
-- statements from this index.
CREATE INDEX notes_kind ON notes (tenant, layer, kind, id) WHERE bytes >= 0 AND kind NOT IN ('note', 'message');
CREATE INDEX notes_digest ON notes (tenant, layer, digest) WHERE digest <> 0;
CREATE INDEX notes_expiry ON notes (tenant, layer, expires_at) WHERE expires_at IS NOT NULL;

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
CREATE INDEX links_target ON links (target, layer);
-- The condition holds for all rows, and only the statement that reads the log has it.
CREATE INDEX links_log ON links (tenant, layer, from_rev, source) WHERE confidence >= 0;

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
    losses      integer     NOT NULL DEFAULT 0, -- leases lost in a row, before the current claims
    alone       integer     NOT NULL DEFAULT 0, -- how many of the last ones ran with no other job in their process
    awaits      uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000', -- the job whose end wakes this one
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
CREATE INDEX jobs_awaits ON jobs (tenant, awaits) WHERE awaits <> '00000000-0000-0000-0000-000000000000';
-- Jobs that are not done are few among those that are: lists of what waits, runs or failed find them by this index.
CREATE INDEX jobs_open ON jobs (tenant, id) WHERE state <> 'done';
-- What waits in a collection is counted by indexes; these two hold few rows.
CREATE INDEX jobs_dead ON jobs (tenant, collection) WHERE state = 'dead';
CREATE INDEX jobs_embedding ON jobs (tenant, collection) WHERE state IN ('queued', 'running') AND payload::text = '{"embed_only":true}';
ALTER TABLE notes   SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
ALTER TABLE vectors SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
ALTER TABLE links   SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
ALTER TABLE jobs    SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);

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

-- Blocks that a shared collection holds and that other collections show too, folders of files, and tools.
CREATE TABLE attachments (
    tenant     uuid        NOT NULL,
    collection uuid        NOT NULL, -- which shows the block
    block      uuid        NOT NULL, -- a note, or a collection of files
    home       uuid        NOT NULL, -- the collection that holds the block
    label      text        NOT NULL COLLATE "C", -- of the block
    mode       text        NOT NULL, -- 'rw'; 'ro': not changed through this collection; 'folder': of files; 'tool'
    at         timestamptz NOT NULL,
    PRIMARY KEY (tenant, collection, block)
);
CREATE UNIQUE INDEX attachments_label ON attachments (tenant, collection, label);
CREATE INDEX attachments_block ON attachments (tenant, block);
CREATE INDEX attachments_home ON attachments (tenant, home);

-- Tools of tenants, which their callers run.
CREATE TABLE tools (
    tenant     uuid        NOT NULL,
    id         uuid        NOT NULL,
    name       text        NOT NULL COLLATE "C",
    spec       json        NOT NULL, -- its description and the schema of its arguments
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX tools_name ON tools (tenant, name);

-- Webhooks are sent what is in the log; a delivery is what was sent, not what it said.
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

-- What holders of keys let programs do (OAuth).
CREATE TABLE grants (
    tenant         uuid NOT NULL,
    id             uuid NOT NULL,
    api_key        uuid NOT NULL,
    agent          uuid NOT NULL, -- of the key
    client         text NOT NULL COLLATE "C", -- its name, as it says
    client_hash    bytea NOT NULL, -- of its id
    redirect       text NOT NULL COLLATE "C",
    resource       text NOT NULL COLLATE "C",
    permissions    text[] NOT NULL,
    external_user  text NOT NULL COLLATE "C",
    external_agent text NOT NULL COLLATE "C",
    challenge      text NOT NULL COLLATE "C",
    code           bytea NOT NULL, -- this and the next two are hashes
    family         bytea NOT NULL,
    refresh        bytea NOT NULL,
    created_at     timestamptz NOT NULL,
    used_at        timestamptz, -- NULL: the code was not exchanged
    expires_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- For each applied step, the version that a build must know to work on the schema after it. The migration runner writes the rows
-- from the headers of the steps. A version without a row counts as its own: only builds that know it may use it.
CREATE TABLE schema_compat (
    version         bigint NOT NULL PRIMARY KEY,
    compatible_from bigint NOT NULL
);

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['agents', 'api_keys', 'collections', 'collection_heads', 'changesets', 'notes', 'links', 'vectors',
        'usage', 'jobs', 'reviews', 'audit', 'idempotency', 'model_use', 'spool',
        'snapshots', 'attachments', 'tools', 'webhooks', 'deliveries', 'grants'] LOOP
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

-- Collections with notes that may have expired.
-- +goose StatementBegin
CREATE FUNCTION expiring_collections(at timestamptz, most integer) RETURNS TABLE (tenant uuid, collection uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT h.tenant, h.collection FROM collection_heads h
    WHERE h.next_expiry <= at AND (SELECT c.state = 'active' FROM collections c WHERE c.tenant = h.tenant AND c.id = h.collection LIMIT 1)
    ORDER BY h.next_expiry, h.collection LIMIT most
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
-- first time. A job that waits after a lost lease, or after a failed try, holds up no later one.
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

-- How many jobs of a stage could be done at a time, and since when the first of them waits: since it was
-- made or, if that is later, since it was due. Reads the index jobs_not_before only.
-- +goose StatementBegin
CREATE FUNCTION backlog_at(of text, at timestamptz, OUT waiting bigint, OUT oldest timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT count(*), min(greatest(j.created_at, j.not_before)) FROM jobs j
    WHERE j.state = 'queued' AND j.stage = of AND (j.not_before IS NULL OR j.not_before <= at)
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

REVOKE EXECUTE ON FUNCTION expired_collections(timestamptz, integer), expiring_collections(timestamptz, integer),
    ephemeral_collections(integer), due_collections(timestamptz, integer), next_due(), backlog(text), backlog_at(text, timestamptz),
    stale_parts(timestamptz, integer) FROM PUBLIC;

-- +goose Down
DROP FUNCTION stale_parts(timestamptz, integer);
DROP FUNCTION backlog_at(text, timestamptz);
DROP FUNCTION backlog(text);
DROP FUNCTION next_due();
DROP FUNCTION due_collections(timestamptz, integer);
DROP FUNCTION ephemeral_collections(integer);
DROP FUNCTION expiring_collections(timestamptz, integer);
DROP FUNCTION expired_collections(timestamptz, integer);
DROP TABLE schema_compat;
DROP TABLE grants;
DROP TABLE deliveries;
DROP TABLE webhooks;
DROP TABLE tools;
DROP TABLE attachments;
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
DROP TABLE snapshots;
DROP TABLE changesets;
DROP TABLE collection_heads;
DROP TABLE collections;
DROP TABLE api_keys;
DROP TABLE agents;
DROP TABLE signing_keys;
DROP TABLE tenants;
