-- compatible-from: 3

-- +goose Up
-- The messages of one session are paged in the order in which they were said, without reading those of the others. A session is a text
-- or a number of any length: its hash is as short for each, and the same for equal numbers. The condition is another one than that of
-- notes_said, so that a planner without statistics takes this index.
CREATE INDEX notes_session ON notes (tenant, layer, jsonb_hash(COALESCE(attributes->'session', 'null')), occurred_at, id) WHERE kind || '' = 'message';

-- +goose Down
DROP INDEX notes_session;
