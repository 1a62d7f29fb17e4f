-- compatible-from: 1
-- For each applied step, the version that a build must know to work on the schema after it. The
-- migration runner writes the rows from the headers of the steps. A version without a row counts
-- as its own: only builds that know it may use it.

-- +goose Up
CREATE TABLE schema_compat (
    version         INTEGER NOT NULL PRIMARY KEY,
    compatible_from INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE schema_compat;
