-- The job that made the vectors of a collection anew; zero: they came with their notes.

-- +goose Up
ALTER TABLE collections ADD COLUMN reembedded uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';

-- +goose Down
ALTER TABLE collections DROP COLUMN reembedded;
