-- compatible-from: 1
-- For each applied step, the version that a build must know to work on the schema after it. The
-- migration runner writes the rows from the headers of the steps. A version without a row counts
-- as its own: only builds that know it may use it.

-- +goose Up
CREATE TABLE schema_compat (
    version         bigint NOT NULL PRIMARY KEY,
    compatible_from bigint NOT NULL
);

-- +goose Down
DROP TABLE schema_compat;
