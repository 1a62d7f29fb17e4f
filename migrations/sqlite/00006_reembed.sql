-- The job that made the vectors of a collection anew; zero: they came with their notes.

-- +goose Up
ALTER TABLE collections ADD COLUMN reembedded BLOB NOT NULL DEFAULT x'00000000000000000000000000000000';

-- +goose Down
ALTER TABLE collections DROP COLUMN reembedded;
