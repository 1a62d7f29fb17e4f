-- How often a job was handed out since it was last given back: a job that ends
-- its process again and again must not be tried for ever.
--
-- With it come the reads of the queue that cross tenants: ids and a time only.

-- +goose Up
ALTER TABLE jobs ADD COLUMN claims integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE jobs DROP COLUMN claims;
