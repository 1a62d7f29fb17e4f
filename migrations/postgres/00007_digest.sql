-- compatible-from: 1
-- Duplicates of a note are found by a digest of what they share. Older builds write 0: their notes are not found.

-- +goose Up
ALTER TABLE notes ADD COLUMN digest bigint NOT NULL DEFAULT 0;
CREATE INDEX notes_digest ON notes (tenant, layer, digest) WHERE digest <> 0;

-- +goose Down
DROP INDEX notes_digest;
ALTER TABLE notes DROP COLUMN digest;
