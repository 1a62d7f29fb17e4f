-- compatible-from: 1
-- Summaries, sessions, facts and the like are paged without reading messages. "bytes >= 0" holds for all rows: it keeps other
-- statements from this index.

-- +goose Up
CREATE INDEX notes_kind ON notes (tenant, layer, kind, id) WHERE bytes >= 0 AND kind NOT IN ('note', 'message');

-- +goose Down
DROP INDEX notes_kind;
