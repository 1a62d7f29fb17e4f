-- compatible-from: 3

-- +goose Up
-- A message whose session is a list of several is found by each of them.
CREATE INDEX notes_session_lists ON notes (tenant, layer, occurred_at, id) WHERE kind = 'message' AND json_type(NULLIF(attributes, ''), '$.session') = 'array';

-- +goose Down
DROP INDEX notes_session_lists;
