-- compatible-from: 1

-- +goose Up
-- When the job was last claimed, and for how many microseconds it was held in all: what is left of its life is its wait.
ALTER TABLE jobs ADD COLUMN claimed_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN worked INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE jobs DROP COLUMN worked;
ALTER TABLE jobs DROP COLUMN claimed_at;
