-- The directions of a note's tokens stand beside its vector; an empty value is none.

-- +goose Up
ALTER TABLE vectors ADD COLUMN tokens bytea NOT NULL DEFAULT ''; -- 64 signed bytes for each token
-- They do not compress, and a scan of vectors alone should not read long ones.
ALTER TABLE vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;

-- +goose Down
ALTER TABLE vectors DROP COLUMN tokens;
