-- compatible-from: 1
-- How many seconds the clock of who wrote a note was ahead of UTC at occurred_at: the day of a note is that of its writer.
-- Older builds leave 0, which is UTC, and do not show it.

-- +goose Up
ALTER TABLE notes ADD COLUMN occurred_offset INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE notes DROP COLUMN occurred_offset;
