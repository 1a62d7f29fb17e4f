-- Messages are paged in the order in which they were said.

-- +goose Up
CREATE INDEX notes_said ON notes (tenant, layer, occurred_at, id) WHERE kind = 'message';

-- +goose Down
DROP INDEX notes_said;
