-- compatible-from: 1
-- What applications call a collection by: their own ids of a user, an agent, a program and a run. Older builds leave
-- them empty, and do not show them.

-- +goose Up
ALTER TABLE collections ADD COLUMN external_user  text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE collections ADD COLUMN external_agent text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE collections ADD COLUMN external_app   text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE collections ADD COLUMN external_run   text COLLATE "C" NOT NULL DEFAULT '';
CREATE UNIQUE INDEX collections_external ON collections (tenant, external_user, external_agent, external_app, external_run)
    WHERE external_user || external_agent || external_app || external_run <> '' AND state <> 'deleting';

-- +goose Down
DROP INDEX collections_external;
ALTER TABLE collections DROP COLUMN external_user;
ALTER TABLE collections DROP COLUMN external_agent;
ALTER TABLE collections DROP COLUMN external_app;
ALTER TABLE collections DROP COLUMN external_run;
