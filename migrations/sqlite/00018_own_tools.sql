-- compatible-from: 18
-- contract: tools of tenants have no address: their callers run them, and older builds would call one
-- Tools keep their names, descriptions and schemas. Runs that wait for the approval of a tool that was called over HTTP are ended.

-- +goose Up
CREATE TEMPORARY TABLE ended AS
SELECT DISTINCT r.tenant, json_extract(r.changes, '$[0].call.run') AS run FROM reviews r
JOIN tools t ON t.tenant = r.tenant AND t.name = json_extract(r.changes, '$[0].call.tool')
WHERE r.state = 'open' AND json_extract(r.changes, '$[0].call.run') IS NOT NULL;
UPDATE jobs SET state = 'failed', result = '',
    error = 'the gateway calls tools over HTTP no longer: send the event again, and answer the call when the run requires action'
WHERE kind = 'step' AND state = 'done' AND result LIKE '{"state":"waiting"%'
AND EXISTS (SELECT 1 FROM ended e WHERE e.tenant = jobs.tenant AND replace(e.run, '-', '') = lower(hex(jobs.note)));
UPDATE reviews SET state = 'rejected', closed_at = unixepoch() * 1000000, actor = 'slipbox',
    reason = 'the gateway calls tools over HTTP no longer: send the event again, and answer the call when the run requires action'
WHERE state = 'open' AND EXISTS (SELECT 1 FROM ended e WHERE e.tenant = reviews.tenant AND e.run = json_extract(reviews.changes, '$[0].call.run'));
DROP TABLE ended;
UPDATE jobs SET result = replace(result, '{"state":"waiting","stop_reason":"approval"', '{"state":"requires_action","stop_reason":"requires_action"')
WHERE kind = 'step' AND state = 'done' AND result LIKE '{"state":"waiting"%';
UPDATE tools SET spec = json_object('description', json_extract(spec, '$.description'), 'parameters', json(json_extract(spec, '$.parameters')));
ALTER TABLE tools DROP COLUMN secrets;

-- +goose Down
ALTER TABLE tools ADD COLUMN secrets BLOB NOT NULL DEFAULT x'';
UPDATE jobs SET result = replace(result, '{"state":"requires_action","stop_reason":"requires_action"', '{"state":"waiting","stop_reason":"approval"')
WHERE kind = 'step' AND state = 'done' AND result LIKE '{"state":"requires_action"%';
