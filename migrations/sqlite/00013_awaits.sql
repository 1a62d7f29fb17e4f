-- compatible-from: 1
-- The job whose end wakes this one. Older builds leave zero, and look again from time to time.

-- +goose Up
ALTER TABLE jobs ADD COLUMN awaits BLOB NOT NULL DEFAULT x'00000000000000000000000000000000';
CREATE INDEX jobs_awaits ON jobs (tenant, awaits) WHERE awaits <> zeroblob(16);

-- +goose Down
DROP INDEX jobs_awaits;
ALTER TABLE jobs DROP COLUMN awaits;
