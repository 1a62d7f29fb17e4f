-- compatible-from: 1
-- The links of a stretch of a log, the merges of a collection, and named revisions. The conditions on confidence hold for all
-- rows, and only the statement that reads the log has it.

-- +goose Up
CREATE INDEX links_log ON links (tenant, layer, from_rev, source) WHERE confidence >= 0;
CREATE INDEX changesets_merged ON changesets (tenant, collection, revision) WHERE merged_from IS NOT NULL;
CREATE TABLE snapshots (
    tenant     uuid        NOT NULL,
    collection uuid        NOT NULL,
    name       text        NOT NULL COLLATE "C",
    revision   bigint      NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, collection, name)
);
ALTER TABLE snapshots ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON snapshots USING (tenant = nullif(current_setting('slipbox.tenant', true), '')::uuid);

-- +goose Down
DROP TABLE snapshots;
DROP INDEX changesets_merged;
DROP INDEX links_log;
