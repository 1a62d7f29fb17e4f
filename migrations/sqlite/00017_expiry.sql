-- compatible-from: 1
-- When a note expires, and when the first note of a collection does; 0: never. next_expiry may be earlier, never later. An older
-- build writes versions without it: a note that it changes no longer expires.

-- +goose Up
ALTER TABLE notes ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collection_heads ADD COLUMN next_expiry INTEGER NOT NULL DEFAULT 0;
CREATE INDEX notes_expiry ON notes (tenant, layer, expires_at) WHERE expires_at > 0;
CREATE INDEX heads_expiry ON collection_heads (next_expiry) WHERE next_expiry > 0;

-- +goose Down
DROP INDEX heads_expiry;
DROP INDEX notes_expiry;
ALTER TABLE collection_heads DROP COLUMN next_expiry;
ALTER TABLE notes DROP COLUMN expires_at;
