-- compatible-from: 3

-- +goose Up
-- Below a policy of row-level security an index leads to rows by comparisons alone that are leakproof, and no function of JSON or of
-- texts is: statements that look up such an expression would read all that its index has of a layer. These views have the condition
-- of the policies, and read with the owner's rights.
CREATE VIEW tenant_notes AS SELECT * FROM notes WHERE tenant = nullif(current_setting('slipbox.tenant', true), '')::uuid;
CREATE VIEW tenant_jobs AS SELECT * FROM jobs WHERE tenant = nullif(current_setting('slipbox.tenant', true), '')::uuid;
-- What jobs say about notes is looked for in those that ended since the notes began; those that have not ended are the last.
CREATE INDEX jobs_ended ON jobs (tenant, collection, (CASE WHEN finished_at IS NULL THEN 'infinity' ELSE finished_at END)) WHERE result IS NOT NULL;

-- +goose Down
DROP INDEX jobs_ended;
DROP VIEW tenant_jobs;
DROP VIEW tenant_notes;
