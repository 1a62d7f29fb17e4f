-- compatible-from: 3

-- +goose Up
-- A job that is not that of a note or of messages is found by its kind, and a task of a policy also by the beginning of its payload,
-- which has its name and its key: what waits in a collection may be many.
CREATE INDEX jobs_kind ON jobs (tenant, collection, kind, (CASE kind WHEN 'policy' THEN left(rtrim(split_part(payload::text, ',"args":', 1), '}'), 300) END))
    WHERE kind NOT IN ('note', 'exchange') AND state || '' IN ('queued', 'running');

-- +goose Down
DROP INDEX jobs_kind;
