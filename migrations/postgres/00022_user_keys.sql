-- compatible-from: 18
-- A key may be limited to the collections with ids of an application; '' is any. The hash of such a key covers its ids, so an older
-- build, which does not know them, does not accept it.

-- +goose Up
ALTER TABLE api_keys ADD COLUMN external_user text NOT NULL DEFAULT '' COLLATE "C";
ALTER TABLE api_keys ADD COLUMN external_agent text NOT NULL DEFAULT '' COLLATE "C";
ALTER TABLE api_keys ADD COLUMN external_app text NOT NULL DEFAULT '' COLLATE "C";
ALTER TABLE api_keys ADD COLUMN external_run text NOT NULL DEFAULT '' COLLATE "C";

-- +goose Down
ALTER TABLE api_keys DROP COLUMN external_run;
ALTER TABLE api_keys DROP COLUMN external_app;
ALTER TABLE api_keys DROP COLUMN external_agent;
ALTER TABLE api_keys DROP COLUMN external_user;
