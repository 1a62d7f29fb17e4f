-- compatible-from: 18
-- A note that is found by its key has a version for each of its changes. In this order the newest is read first, and no other.

-- +goose Up
CREATE INDEX notes_newest_by_key ON notes (tenant, layer, kind, key, from_rev) WHERE key <> '';

-- +goose Down
DROP INDEX notes_newest_by_key;
