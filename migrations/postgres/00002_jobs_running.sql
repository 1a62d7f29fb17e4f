-- The few jobs that are held, so that a look for one does not read all that wait.

-- +goose Up
CREATE INDEX jobs_running ON jobs (tenant, collection, stage) WHERE state = 'running';

-- +goose Down
DROP INDEX jobs_running;
