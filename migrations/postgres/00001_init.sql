-- The same tables and columns as the embedded engine's, in Postgres' types. The
-- zero id means none; a NULL time means none. Every key but those of tenants
-- and signing_keys starts with the tenant, so that data can be distributed by it.
--
-- A version is live at b when from_rev <= b AND to_rev > b; to_rev of an open
-- version is the greatest integer.
--
-- Row-level security holds the serving role to the tenant of its transaction.
-- It is not forced on the owner: migrations and dumps must see rows.

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

-- Keys of the platform stand under the zero tenant.
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
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX collections_name ON collections (tenant, name, agent) WHERE state <> 'deleting';
CREATE INDEX collections_parent ON collections (tenant, parent) WHERE parent <> '00000000-0000-0000-0000-000000000000';
CREATE INDEX collections_expiry ON collections (expires_at) WHERE expires_at IS NOT NULL AND state <> 'deleting';
CREATE INDEX collections_ephemeral ON collections (tenant, id) WHERE ephemeral AND state <> 'deleting';

-- What every write changes, in a narrow row of its own with room for its next
-- versions in the same page. The v_ counts are of what is visible at the head,
-- right when counted is true; the s_ counts are of the rows stored in the own layer.
CREATE TABLE collection_heads (
    tenant       uuid    NOT NULL,
    collection   uuid    NOT NULL,
    head         bigint  NOT NULL,
    floor        bigint  NOT NULL,
    origin       bigint  NOT NULL, -- the own log's changesets begin at origin + 1
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
    embedder    text             NOT NULL, -- of the vector written with it; '': it waits for one
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
-- For the rows of one id alone: an ordered index by (tenant, id) would tempt the
-- planner to page through all layers of a tenant in search of one.
CREATE INDEX notes_note ON notes USING hash (id);
CREATE INDEX notes_key ON notes (tenant, layer, kind, key) WHERE key <> '';
CREATE INDEX notes_began ON notes (tenant, layer, from_rev, id);
CREATE INDEX notes_ended ON notes (tenant, layer, to_rev) WHERE to_rev < 9223372036854775807;
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
    PRIMARY KEY (tenant, layer, note, from_rev, embedder)
);
ALTER TABLE vectors ALTER COLUMN vec SET STORAGE PLAIN;

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
    PRIMARY KEY (tenant, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX jobs_waiting ON jobs (tenant, collection, stage, seq) WHERE state IN ('queued', 'running');
CREATE INDEX jobs_collection ON jobs (tenant, collection, id);
CREATE INDEX jobs_note ON jobs (tenant, note) WHERE note <> '00000000-0000-0000-0000-000000000000';

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
-- Ids of audit rows only have to grow; nobody waits for another's transaction.
CREATE SEQUENCE audit_ids;

CREATE TABLE idempotency (
    tenant    uuid        NOT NULL,
    agent     uuid        NOT NULL,
    method    text        NOT NULL,
    path      text        NOT NULL,
    key       text        NOT NULL COLLATE "C",
    body_hash bytea       NOT NULL,
    status    integer     NOT NULL,
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
        'usage', 'jobs', 'reviews', 'audit', 'idempotency', 'model_use'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY own_tenant ON %I USING (tenant = nullif(current_setting(''slipbox.tenant'', true), '''')::uuid)', t);
    END LOOP;
END $$;
-- +goose StatementEnd

-- The reads that cross tenants: ids only, with the owner's rights. They look for
-- tables in this schema, and last in the temporary one, which comes first when it
-- is not named: a view that a caller makes there would run with those rights.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Collections whose time is over.
-- +goose StatementBegin
CREATE FUNCTION expired_collections(at timestamptz, most integer) RETURNS TABLE (tenant uuid, collection uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT c.tenant, c.id FROM collections c WHERE c.expires_at <= at AND c.state <> 'deleting' ORDER BY c.expires_at, c.id LIMIT most
$$;
-- +goose StatementEnd

-- Collections that are gone when their process ends.
-- +goose StatementBegin
CREATE FUNCTION ephemeral_collections(most integer) RETURNS TABLE (tenant uuid, collection uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT c.tenant, c.id FROM collections c WHERE c.ephemeral AND c.state <> 'deleting' ORDER BY c.tenant, c.id LIMIT most
$$;
-- +goose StatementEnd

REVOKE EXECUTE ON FUNCTION expired_collections(timestamptz, integer), ephemeral_collections(integer) FROM PUBLIC;

-- +goose Down
DROP FUNCTION ephemeral_collections(integer);
DROP FUNCTION expired_collections(timestamptz, integer);
DROP TABLE model_use;
DROP TABLE idempotency;
DROP SEQUENCE audit_ids;
DROP TABLE audit;
DROP TABLE reviews;
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
