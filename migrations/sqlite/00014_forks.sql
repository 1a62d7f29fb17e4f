-- compatible-from: 1
-- The links of a stretch of a log, the merges of a collection, and named revisions. The conditions on confidence hold for all
-- rows, and only the statement that reads the log has it.

-- +goose Up
CREATE INDEX links_log ON links (tenant, layer, from_rev) WHERE confidence >= 0;
CREATE INDEX changesets_merged ON changesets (tenant, collection, revision) WHERE merged_from <> '';
CREATE TABLE snapshots (
    tenant     BLOB    NOT NULL,
    collection BLOB    NOT NULL,
    name       TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, collection, name)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE snapshots;
DROP INDEX changesets_merged;
DROP INDEX links_log;
