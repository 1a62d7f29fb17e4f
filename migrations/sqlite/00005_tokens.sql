-- The directions of a note's tokens stand beside its vector; an empty value is none.

-- +goose Up
ALTER TABLE vectors ADD COLUMN tokens BLOB NOT NULL DEFAULT x''; -- 64 signed bytes for each token

-- +goose Down
ALTER TABLE vectors DROP COLUMN tokens;
