-- How often a job was handed out since it was last given back: a job that ends
-- its process again and again must not be tried for ever.

-- +goose Up
ALTER TABLE jobs ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE jobs DROP COLUMN claims;
