-- compatible-from: 18
-- contract: tools of tenants have no address: their callers run them, and older builds would call one
-- Tools keep their names, descriptions and schemas. Runs that wait for the approval of a tool that was called over HTTP are ended.

-- +goose Up
CREATE TEMPORARY TABLE ended ON COMMIT DROP AS
SELECT DISTINCT r.tenant, (r.changes->0->'call'->>'run')::uuid AS run FROM reviews r
JOIN tools t ON t.tenant = r.tenant AND t.name = r.changes->0->'call'->>'tool'
WHERE r.state = 'open' AND r.changes->0->'call'->>'run' IS NOT NULL;
UPDATE jobs SET state = 'failed', result = NULL,
    error = 'the gateway calls tools over HTTP no longer: send the event again, and answer the call when the run requires action'
WHERE kind = 'step' AND state = 'done' AND result->>'state' = 'waiting'
AND EXISTS (SELECT 1 FROM ended e WHERE e.tenant = jobs.tenant AND e.run = jobs.note);
UPDATE reviews SET state = 'rejected', closed_at = now(), actor = 'slipbox',
    reason = 'the gateway calls tools over HTTP no longer: send the event again, and answer the call when the run requires action'
WHERE state = 'open' AND EXISTS (SELECT 1 FROM ended e WHERE e.tenant = reviews.tenant AND e.run::text = reviews.changes->0->'call'->>'run');
UPDATE jobs SET result = replace(result::text, '{"state":"waiting","stop_reason":"approval"', '{"state":"requires_action","stop_reason":"requires_action"')::json
WHERE kind = 'step' AND state = 'done' AND result->>'state' = 'waiting';
UPDATE tools SET spec = json_build_object('description', spec->'description', 'parameters', spec->'parameters');
ALTER TABLE tools DROP COLUMN secrets;

-- +goose Down
ALTER TABLE tools ADD COLUMN secrets bytea NOT NULL DEFAULT '';
UPDATE jobs SET result = replace(result::text, '{"state":"requires_action","stop_reason":"requires_action"', '{"state":"waiting","stop_reason":"approval"')::json
WHERE kind = 'step' AND state = 'done' AND result->>'state' = 'requires_action';
