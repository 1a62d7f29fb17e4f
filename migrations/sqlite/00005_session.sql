-- compatible-from: 3

-- +goose Up
-- The messages of one session are paged in the order in which they were said, without reading those of the others.
CREATE INDEX notes_session ON notes (tenant, layer, json_extract(NULLIF(attributes, ''), '$.session'), occurred_at, id) WHERE kind = 'message';

-- +goose Down
DROP INDEX notes_session;
