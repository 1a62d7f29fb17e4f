-- compatible-from: 18
-- A key may be limited to the collections with ids of an application; '' is any. The hash of such a key covers its ids, so an older
-- build, which does not know them, does not accept it. What waits in a collection is counted by indexes; these two hold few rows.

-- +goose Up
ALTER TABLE api_keys ADD COLUMN external_user text NOT NULL DEFAULT '' COLLATE "C";
ALTER TABLE api_keys ADD COLUMN external_agent text NOT NULL DEFAULT '' COLLATE "C";
ALTER TABLE api_keys ADD COLUMN external_app text NOT NULL DEFAULT '' COLLATE "C";
ALTER TABLE api_keys ADD COLUMN external_run text NOT NULL DEFAULT '' COLLATE "C";
CREATE INDEX jobs_dead ON jobs (tenant, collection) WHERE state = 'dead';
CREATE INDEX jobs_embedding ON jobs (tenant, collection) WHERE state IN ('queued', 'running') AND payload::text = '{"embed_only":true}';

-- +goose Down
DROP INDEX jobs_embedding;
DROP INDEX jobs_dead;
ALTER TABLE api_keys DROP COLUMN external_run;
ALTER TABLE api_keys DROP COLUMN external_app;
ALTER TABLE api_keys DROP COLUMN external_agent;
ALTER TABLE api_keys DROP COLUMN external_user;
