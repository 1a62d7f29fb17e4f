-- compatible-from: 3

-- +goose Up
-- The index of links by target has had the tenant from the first version on; that of Postgres has it from this one on.

-- +goose Down
