-- compatible-from: 1
-- Ids are 16-byte blobs; the zero id means none. Times are microseconds since
-- 1970 UTC; 0, or NULL where 0 is a possible time, means none. Documents are
-- JSON text; '' means none. All keys except those of tenants and signing_keys
-- start with the tenant, so that data can be distributed by tenant.
--
-- A version is live at b when from_rev <= b AND to_rev > b; to_rev of an open
-- version is the greatest integer.

-- +goose Up
CREATE TABLE tenants (
    id         BLOB    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    limits     TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX tenants_name ON tenants (name) WHERE state <> 'deleting';

CREATE TABLE signing_keys (
    kid        TEXT    NOT NULL PRIMARY KEY,
    public     BLOB    NOT NULL,
    wrapped    BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    retires_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
    tenant       BLOB    NOT NULL,
    id           BLOB    NOT NULL,
    name         TEXT    NOT NULL,
    display_name TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX agents_name ON agents (tenant, name);

-- Keys of the platform have the zero tenant.
CREATE TABLE api_keys (
    tenant      BLOB    NOT NULL,
    id          BLOB    NOT NULL,
    name        TEXT    NOT NULL,
    prefix      TEXT    NOT NULL,
    hash        BLOB    NOT NULL,
    permissions TEXT    NOT NULL,
    agent       BLOB    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    revoked_at  INTEGER NOT NULL,
    rotated_to  BLOB    NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE collections (
    tenant          BLOB    NOT NULL,
    id              BLOB    NOT NULL,
    agent           BLOB    NOT NULL, -- zero: a shared base
    name            TEXT    NOT NULL,
    display_name    TEXT    NOT NULL,
    policy          TEXT    NOT NULL,
    policy_config   TEXT    NOT NULL,
    embedder        TEXT    NOT NULL,
    dim             INTEGER NOT NULL,
    metadata        TEXT    NOT NULL,
    ephemeral       INTEGER NOT NULL,
    state           TEXT    NOT NULL,
    parent          BLOB    NOT NULL,
    parent_revision INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    -- the job that embedded all notes again with another embedder; zero: vectors came with the notes
    reembedded      BLOB    NOT NULL DEFAULT x'00000000000000000000000000000000',
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX collections_name ON collections (tenant, name, agent) WHERE state <> 'deleting';
CREATE INDEX collections_parent ON collections (tenant, parent) WHERE parent <> zeroblob(16);
CREATE INDEX collections_expiry ON collections (expires_at) WHERE expires_at > 0 AND state <> 'deleting';
CREATE INDEX collections_ephemeral ON collections (tenant, id) WHERE ephemeral = 1 AND state <> 'deleting';

-- What every write changes, in a row of its own. The v_ columns count what is
-- visible at the head, and are right when counted is 1; the s_ columns count the
-- rows stored in the collection's own layer.
CREATE TABLE collection_heads (
    tenant       BLOB    NOT NULL,
    collection   BLOB    NOT NULL,
    head         INTEGER NOT NULL,
    floor        INTEGER NOT NULL,
    origin       INTEGER NOT NULL, -- changesets of the collection's own log begin at origin + 1
    job_seq      INTEGER NOT NULL,
    evolved_adds INTEGER NOT NULL,
    erase_epoch  INTEGER NOT NULL,
    counted      INTEGER NOT NULL,
    v_notes      INTEGER NOT NULL,
    v_links      INTEGER NOT NULL,
    v_pending    INTEGER NOT NULL,
    v_in_review  INTEGER NOT NULL,
    v_bytes      INTEGER NOT NULL,
    v_kinds      TEXT    NOT NULL,
    s_notes      INTEGER NOT NULL,
    s_links      INTEGER NOT NULL,
    s_bytes      INTEGER NOT NULL,
    PRIMARY KEY (tenant, collection)
) STRICT, WITHOUT ROWID;

CREATE TABLE changesets (
    tenant      BLOB    NOT NULL,
    collection  BLOB    NOT NULL,
    revision    INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    actor       TEXT    NOT NULL,
    job         BLOB    NOT NULL,
    trigger     BLOB    NOT NULL,
    cause       TEXT    NOT NULL,
    undoes      INTEGER NOT NULL,
    merged_from TEXT    NOT NULL,
    PRIMARY KEY (tenant, collection, revision)
) STRICT, WITHOUT ROWID;

-- A table with row ids: contents may be long, and the keys stay compact.
CREATE TABLE notes (
    tenant      BLOB    NOT NULL,
    layer       BLOB    NOT NULL, -- the collection whose log holds it
    id          BLOB    NOT NULL,
    from_rev    INTEGER NOT NULL,
    to_rev      INTEGER NOT NULL,
    deleted     INTEGER NOT NULL, -- a tombstone
    kind        TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    importance  REAL    NOT NULL,
    occurred_at INTEGER,
    created_at  INTEGER,
    updated_at  INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    embedder    TEXT    NOT NULL, -- of the vector written with the note; '': the vector is still to be made
    category    TEXT    NOT NULL,
    context     TEXT    NOT NULL,
    keywords    TEXT    NOT NULL,
    tags        TEXT    NOT NULL,
    attributes  TEXT    NOT NULL,
    error       TEXT    NOT NULL,
    analyst     TEXT    NOT NULL,
    supplied    TEXT    NOT NULL,
    provenance  TEXT    NOT NULL,
    content     TEXT    NOT NULL,
    PRIMARY KEY (tenant, layer, id, from_rev)
) STRICT;
CREATE INDEX notes_note ON notes (tenant, id);
CREATE INDEX notes_key ON notes (tenant, layer, kind, key) WHERE key <> '';
CREATE INDEX notes_began ON notes (tenant, layer, from_rev, id);
CREATE INDEX notes_ended ON notes (tenant, layer, to_rev) WHERE to_rev < 9223372036854775807;
-- Messages are paged in the order in which they were said.
CREATE INDEX notes_said ON notes (tenant, layer, occurred_at, id) WHERE kind = 'message';
CREATE INDEX notes_waiting ON notes (tenant, layer, to_rev) WHERE state IN ('raw', 'pending') AND deleted = 0;

CREATE TABLE links (
    tenant     BLOB    NOT NULL,
    layer      BLOB    NOT NULL,
    source     BLOB    NOT NULL,
    relation   TEXT    NOT NULL,
    target     BLOB    NOT NULL,
    from_rev   INTEGER NOT NULL,
    to_rev     INTEGER NOT NULL,
    deleted    INTEGER NOT NULL,
    confidence REAL    NOT NULL,
    attributes TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, layer, source, relation, target, from_rev)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_target ON links (tenant, layer, target);

CREATE TABLE vectors (
    tenant   BLOB    NOT NULL,
    layer    BLOB    NOT NULL,
    note     BLOB    NOT NULL,
    from_rev INTEGER NOT NULL,
    embedder TEXT    NOT NULL,
    vec      BLOB    NOT NULL, -- float16, little-endian
    tokens   BLOB    NOT NULL DEFAULT x'', -- directions of the note's tokens, 64 signed bytes each; empty: none
    PRIMARY KEY (tenant, layer, note, from_rev, embedder)
) STRICT;

CREATE TABLE usage (
    tenant       BLOB    NOT NULL,
    layer        BLOB    NOT NULL,
    note         BLOB    NOT NULL,
    access_count INTEGER NOT NULL,
    last_access  INTEGER NOT NULL,
    strength     REAL    NOT NULL,
    heat         REAL    NOT NULL,
    PRIMARY KEY (tenant, layer, note)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
    tenant      BLOB    NOT NULL,
    id          BLOB    NOT NULL,
    collection  BLOB    NOT NULL,
    note        BLOB    NOT NULL,
    kind        TEXT    NOT NULL,
    stage       TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    seq         INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    payload     TEXT    NOT NULL,
    result      TEXT    NOT NULL,
    progress    TEXT    NOT NULL,
    error       TEXT    NOT NULL,
    not_before  INTEGER NOT NULL,
    lease       BLOB    NOT NULL,
    lease_until INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    -- how often the job was handed out since it was last given back: a job that
    -- crashes its process again and again must not be retried for ever
    claims      INTEGER NOT NULL DEFAULT 0,
    trace       TEXT    NOT NULL DEFAULT '', -- the trace context of the request that enqueued it
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_waiting ON jobs (tenant, collection, stage, seq) WHERE state IN ('queued', 'running');
-- The few leased jobs, so that finding one does not read all that wait.
CREATE INDEX jobs_running ON jobs (tenant, collection, stage) WHERE state = 'running';
CREATE INDEX jobs_collection ON jobs (tenant, collection, id);
CREATE INDEX jobs_note ON jobs (tenant, note) WHERE note <> zeroblob(16);

-- Bodies that imports received and answers that they gave, in parts.
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

CREATE TABLE reviews (
    tenant     BLOB    NOT NULL,
    id         BLOB    NOT NULL,
    collection BLOB    NOT NULL,
    job        BLOB    NOT NULL,
    trigger    BLOB    NOT NULL,
    state      TEXT    NOT NULL,
    confidence REAL    NOT NULL,
    changes    TEXT    NOT NULL,
    read       TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    reason     TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    closed_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX reviews_collection ON reviews (tenant, collection, state);

CREATE TABLE audit (
    tenant BLOB    NOT NULL,
    id     INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    action TEXT    NOT NULL,
    target TEXT    NOT NULL,
    detail TEXT    NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    tenant    BLOB    NOT NULL,
    agent     BLOB    NOT NULL,
    method    TEXT    NOT NULL,
    path      TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    body_hash BLOB    NOT NULL,
    ids       TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (tenant, agent, method, path, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_at ON idempotency (tenant, at);

CREATE TABLE model_use (
    tenant            BLOB    NOT NULL,
    day               TEXT    NOT NULL,
    collection        BLOB    NOT NULL,
    purpose           TEXT    NOT NULL,
    calls             INTEGER NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, collection, purpose)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE model_use;
DROP TABLE idempotency;
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
