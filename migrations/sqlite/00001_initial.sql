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
    created_at INTEGER NOT NULL,
    allowed_hosts TEXT    NOT NULL DEFAULT '' -- hosts that webhooks may reach, separated by commas
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
    -- the ids of an application whose collections the key is limited to; '' is any. The hash covers them
    external_user  TEXT    NOT NULL DEFAULT '',
    external_agent TEXT    NOT NULL DEFAULT '',
    external_app   TEXT    NOT NULL DEFAULT '',
    external_run   TEXT    NOT NULL DEFAULT '',
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
    -- what applications call the collection by: their own ids of a user, an agent, a program and a run
    external_user   TEXT    NOT NULL DEFAULT '',
    external_agent  TEXT    NOT NULL DEFAULT '',
    external_app    TEXT    NOT NULL DEFAULT '',
    external_run    TEXT    NOT NULL DEFAULT '',
    -- A fork may hold what its ancestors showed it. lineage lists them, nearest first, with the revision up to which; fork_of is the
    -- collection that it was forked from, while it no longer reads it; zero: that is the parent
    fork_of         BLOB    NOT NULL DEFAULT x'00000000000000000000000000000000',
    fork_revision   INTEGER NOT NULL DEFAULT 0,
    lineage         TEXT    NOT NULL DEFAULT '',
    -- what collections are searched by: the folded name, title and ids; '' where it is not known: such a row is read
    -- and compared by its reader
    words           TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX collections_name ON collections (tenant, name, agent) WHERE state <> 'deleting';
CREATE INDEX collections_parent ON collections (tenant, parent) WHERE parent <> zeroblob(16);
CREATE INDEX collections_expiry ON collections (expires_at) WHERE expires_at > 0 AND state <> 'deleting';
CREATE INDEX collections_ephemeral ON collections (tenant, id) WHERE ephemeral = 1 AND state <> 'deleting';
CREATE UNIQUE INDEX collections_external ON collections (tenant, external_user, external_agent, external_app, external_run)
    WHERE external_user || external_agent || external_app || external_run <> '' AND state <> 'deleting';
CREATE INDEX collections_flattened ON collections (tenant, fork_of) WHERE lineage <> '';

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
    next_expiry  INTEGER NOT NULL DEFAULT 0, -- when the first note expires; 0: never. It may be earlier, never later
    -- moved at most once a minute, so that most writes change no index
    written_at   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, collection)
) STRICT, WITHOUT ROWID;
CREATE INDEX heads_expiry ON collection_heads (next_expiry) WHERE next_expiry > 0;
CREATE INDEX heads_written ON collection_heads (tenant, written_at, collection);

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
CREATE INDEX changesets_merged ON changesets (tenant, collection, revision) WHERE merged_from <> '';

-- Named revisions.
CREATE TABLE snapshots (
    tenant     BLOB    NOT NULL,
    collection BLOB    NOT NULL,
    name       TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, collection, name)
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
    digest      INTEGER NOT NULL DEFAULT 0, -- of what duplicates of a note share
    -- how many seconds the clock of who wrote the note was ahead of UTC at occurred_at: the day of a note is that of its writer
    occurred_offset INTEGER NOT NULL DEFAULT 0,
    expires_at  INTEGER NOT NULL DEFAULT 0, -- 0: never
    PRIMARY KEY (tenant, layer, id, from_rev)
) STRICT;
CREATE INDEX notes_note ON notes (tenant, id);
CREATE INDEX notes_key ON notes (tenant, layer, kind, key) WHERE key <> '';
-- A note that is found by its key has a version for each of its changes. In this order the newest is read first, and no other.
CREATE INDEX notes_newest_by_key ON notes (tenant, layer, kind, key, from_rev) WHERE key <> '';
CREATE INDEX notes_began ON notes (tenant, layer, from_rev, id);
CREATE INDEX notes_ended ON notes (tenant, layer, to_rev) WHERE to_rev < 9223372036854775807;
-- Messages are paged in the order in which they were said.
CREATE INDEX notes_said ON notes (tenant, layer, occurred_at, id) WHERE kind = 'message';
CREATE INDEX notes_waiting ON notes (tenant, layer, to_rev) WHERE state IN ('raw', 'pending') AND deleted = 0;
-- Summaries, sessions, facts and the like are paged without reading messages. "bytes >= 0" holds for all rows: it keeps other
-- statements from this index.
CREATE INDEX notes_kind ON notes (tenant, layer, kind, id) WHERE bytes >= 0 AND kind NOT IN ('note', 'message');
CREATE INDEX notes_digest ON notes (tenant, layer, digest) WHERE digest <> 0;
CREATE INDEX notes_expiry ON notes (tenant, layer, expires_at) WHERE expires_at > 0;

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
-- The condition holds for all rows, and only the statement that reads the log has it.
CREATE INDEX links_log ON links (tenant, layer, from_rev) WHERE confidence >= 0;

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
    losses      INTEGER NOT NULL DEFAULT 0, -- leases lost in a row, before the current claims
    alone       INTEGER NOT NULL DEFAULT 0, -- how many of the last ones ran with no other job in their process
    awaits      BLOB    NOT NULL DEFAULT x'00000000000000000000000000000000', -- the job whose end wakes this one
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_waiting ON jobs (tenant, collection, stage, seq) WHERE state IN ('queued', 'running');
-- The few leased jobs, so that finding one does not read all that wait.
CREATE INDEX jobs_running ON jobs (tenant, collection, stage) WHERE state = 'running';
CREATE INDEX jobs_collection ON jobs (tenant, collection, id);
CREATE INDEX jobs_note ON jobs (tenant, note) WHERE note <> zeroblob(16);
CREATE INDEX jobs_awaits ON jobs (tenant, awaits) WHERE awaits <> zeroblob(16);
-- Jobs that are not done are few among those that are: lists of what waits, runs or failed find them by this index.
CREATE INDEX jobs_open ON jobs (tenant, id) WHERE state <> 'done';
-- What waits in a collection is counted by indexes; these two hold few rows.
CREATE INDEX jobs_dead ON jobs (tenant, collection) WHERE state = 'dead';
CREATE INDEX jobs_embedding ON jobs (tenant, collection) WHERE state IN ('queued', 'running') AND payload = '{"embed_only":true}';

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

-- Blocks that a shared collection holds and that other collections show too, folders of files, and tools.
CREATE TABLE attachments (
    tenant     BLOB    NOT NULL,
    collection BLOB    NOT NULL, -- which shows the block
    block      BLOB    NOT NULL, -- a note, or a collection of files
    home       BLOB    NOT NULL, -- the collection that holds the block
    label      TEXT    NOT NULL, -- of the block
    mode       TEXT    NOT NULL, -- 'rw'; 'ro': not changed through this collection; 'folder': of files; 'tool'
    at         INTEGER NOT NULL,
    PRIMARY KEY (tenant, collection, block)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX attachments_label ON attachments (tenant, collection, label);
CREATE INDEX attachments_block ON attachments (tenant, block);
CREATE INDEX attachments_home ON attachments (tenant, home);

-- Tools of tenants, which their callers run.
CREATE TABLE tools (
    tenant     BLOB    NOT NULL,
    id         BLOB    NOT NULL,
    name       TEXT    NOT NULL,
    spec       TEXT    NOT NULL, -- its description and the schema of its arguments
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX tools_name ON tools (tenant, name);

-- Webhooks are sent what is in the log; a delivery is what was sent, not what it said.
CREATE TABLE webhooks (
    tenant     BLOB NOT NULL,
    id         BLOB NOT NULL,
    collection BLOB NOT NULL, -- zero: every collection
    url        TEXT NOT NULL,
    events     TEXT NOT NULL, -- empty: all
    secrets    BLOB NOT NULL, -- encrypted
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    tenant     BLOB NOT NULL,
    webhook    BLOB NOT NULL,
    id         BLOB NOT NULL,
    collection BLOB NOT NULL,
    revision   INTEGER NOT NULL,
    event      TEXT NOT NULL,
    state      TEXT NOT NULL,
    attempts   INTEGER NOT NULL,
    status     INTEGER NOT NULL, -- of the last answer; 0: there was none
    error      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    next_at    INTEGER NOT NULL,
    PRIMARY KEY (tenant, webhook, id)
) STRICT, WITHOUT ROWID;

-- What holders of keys let programs do (OAuth).
CREATE TABLE grants (
    tenant         BLOB NOT NULL,
    id             BLOB NOT NULL,
    api_key        BLOB NOT NULL,
    agent          BLOB NOT NULL, -- of the key
    client         TEXT NOT NULL, -- its name, as it says
    client_hash    BLOB NOT NULL, -- of its id
    redirect       TEXT NOT NULL,
    resource       TEXT NOT NULL,
    permissions    TEXT NOT NULL,
    external_user  TEXT NOT NULL,
    external_agent TEXT NOT NULL,
    challenge      TEXT NOT NULL,
    code           BLOB NOT NULL, -- this and the next two are hashes
    family         BLOB NOT NULL,
    refresh        BLOB NOT NULL,
    created_at     INTEGER NOT NULL,
    used_at        INTEGER NOT NULL, -- 0: the code was not exchanged
    expires_at     INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- For each applied step, the version that a build must know to work on the schema after it. The migration runner writes the rows
-- from the headers of the steps. A version without a row counts as its own: only builds that know it may use it.
CREATE TABLE schema_compat (
    version         INTEGER NOT NULL PRIMARY KEY,
    compatible_from INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE schema_compat;
DROP TABLE grants;
DROP TABLE deliveries;
DROP TABLE webhooks;
DROP TABLE tools;
DROP TABLE attachments;
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
DROP TABLE snapshots;
DROP TABLE changesets;
DROP TABLE collection_heads;
DROP TABLE collections;
DROP TABLE api_keys;
DROP TABLE agents;
DROP TABLE signing_keys;
DROP TABLE tenants;
