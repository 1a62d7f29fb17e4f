-- compatible-from: 3
-- contract: no release has what is dropped, and checkouts before this step ask SQLite for the index by its name

-- +goose Up
-- notes_newest_by_key begins with the same columns, and holds the same rows.
DROP INDEX notes_key;

-- +goose Down
CREATE INDEX notes_key ON notes (tenant, layer, kind, key) WHERE key <> '';
