-- compatible-from: 1
-- A fork may hold what its ancestors showed it. lineage lists them, nearest first, with the revision up to which; fork_of is the
-- collection that it was forked from, while it no longer reads it. Zero: that is the parent.

-- +goose Up
ALTER TABLE collections ADD COLUMN fork_of BLOB NOT NULL DEFAULT x'00000000000000000000000000000000';
ALTER TABLE collections ADD COLUMN fork_revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collections ADD COLUMN lineage TEXT NOT NULL DEFAULT '';
CREATE INDEX collections_flattened ON collections (tenant, fork_of) WHERE lineage <> '';

-- +goose Down
DROP INDEX collections_flattened;
ALTER TABLE collections DROP COLUMN lineage;
ALTER TABLE collections DROP COLUMN fork_revision;
ALTER TABLE collections DROP COLUMN fork_of;
