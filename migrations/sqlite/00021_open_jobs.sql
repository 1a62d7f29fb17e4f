-- compatible-from: 18
-- Jobs that are not done are few among those that are: lists of what waits, runs or failed find them by this index.

-- +goose Up
CREATE INDEX jobs_open ON jobs (tenant, id) WHERE state <> 'done';

-- +goose Down
DROP INDEX jobs_open;
