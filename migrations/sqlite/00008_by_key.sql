-- compatible-from: 3

-- +goose Up
-- What jobs say about notes is looked for in those that ended since the notes began; those that have not ended are the last.
CREATE INDEX jobs_ended ON jobs (tenant, collection, (CASE finished_at WHEN 0 THEN 9223372036854775807 ELSE finished_at END)) WHERE result <> '';

-- +goose Down
DROP INDEX jobs_ended;
