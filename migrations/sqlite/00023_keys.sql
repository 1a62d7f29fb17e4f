-- compatible-from: 18
-- A note that is found by its key has a version for each of its changes. The newest is read first, and no other.

-- +goose Up
DROP INDEX notes_key;
CREATE INDEX notes_key ON notes (tenant, layer, kind, key, from_rev) WHERE key <> '';

-- +goose Down
DROP INDEX notes_key;
CREATE INDEX notes_key ON notes (tenant, layer, kind, key) WHERE key <> '';
