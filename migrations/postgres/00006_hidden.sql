-- compatible-from: 3

-- +goose Up
-- How many of the links that s_links counts have an end that the collection has deleted: such a link comes back with the note.
ALTER TABLE collection_heads ADD COLUMN s_hidden bigint NOT NULL DEFAULT 0;
UPDATE collection_heads SET s_hidden = k.hidden FROM (
    SELECT l.tenant, l.layer, count(*) AS hidden FROM links l
    WHERE l.to_rev = 9223372036854775807 AND NOT l.deleted AND EXISTS (SELECT FROM notes n
        WHERE n.tenant = l.tenant AND n.layer = l.layer AND n.id IN (l.source, l.target) AND n.to_rev = 9223372036854775807 AND n.deleted)
    GROUP BY l.tenant, l.layer
) k WHERE collection_heads.tenant = k.tenant AND collection_heads.collection = k.layer;

-- +goose Down
ALTER TABLE collection_heads DROP COLUMN s_hidden;
