-- compatible-from: 3

-- +goose Up
-- How many of the links that s_links counts have an end that the collection has deleted: such a link comes back with the note.
ALTER TABLE collection_heads ADD COLUMN s_hidden INTEGER NOT NULL DEFAULT 0;
UPDATE collection_heads SET s_hidden = (
    SELECT COUNT(*) FROM links l
    WHERE l.tenant = collection_heads.tenant AND l.layer = collection_heads.collection AND l.to_rev = 9223372036854775807 AND l.deleted = 0
      AND EXISTS (SELECT 1 FROM notes n WHERE n.tenant = l.tenant AND n.layer = l.layer AND n.id IN (l.source, l.target) AND n.to_rev = 9223372036854775807 AND n.deleted = 1)
);

-- +goose Down
ALTER TABLE collection_heads DROP COLUMN s_hidden;
