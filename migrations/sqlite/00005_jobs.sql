-- compatible-from: 1
-- +goose Up
-- Lost leases are counted apart from failed tries.
ALTER TABLE jobs ADD COLUMN losses INTEGER NOT NULL DEFAULT 0; -- leases lost in a row, before the current claims
ALTER TABLE jobs ADD COLUMN alone  INTEGER NOT NULL DEFAULT 0; -- how many of the last ones ran with no other job in their process

-- +goose Down
ALTER TABLE jobs DROP COLUMN alone;
ALTER TABLE jobs DROP COLUMN losses;
