-- compatible-from: 1
-- The log of links is read as that of notes is. The condition holds for all rows, and only the statement that reads the log has it.

-- +goose Up
CREATE INDEX links_log ON links (tenant, layer, from_rev) WHERE from_rev >= 0;

-- +goose Down
DROP INDEX links_log;
