-- compatible-from: 18
-- What collections are searched by, and when they were last written. words is the folded name, title and ids; '' where it is not
-- known: such a row is read and compared by its reader. Older builds leave it empty, and do not move written_at, which is moved
-- at most once a minute, so that most writes change no index of the head.

-- +goose Up
ALTER TABLE collections ADD COLUMN words TEXT NOT NULL DEFAULT '';
UPDATE collections SET words = lower(name || char(10) || display_name || char(10) || external_user || char(10) || external_agent || char(10) ||
    external_app || char(10) || external_run)
    WHERE name || display_name || external_user || external_agent || external_app || external_run NOT GLOB '*[^ -~]*';
ALTER TABLE collection_heads ADD COLUMN written_at INTEGER NOT NULL DEFAULT 0;
UPDATE collection_heads SET written_at = COALESCE(
    (SELECT s.at FROM changesets s WHERE s.tenant = collection_heads.tenant AND s.collection = collection_heads.collection ORDER BY s.revision DESC LIMIT 1),
    (SELECT c.created_at FROM collections c WHERE c.tenant = collection_heads.tenant AND c.id = collection_heads.collection), 0);
CREATE INDEX heads_written ON collection_heads (tenant, written_at, collection);

-- +goose Down
DROP INDEX heads_written;
ALTER TABLE collection_heads DROP COLUMN written_at;
ALTER TABLE collections DROP COLUMN words;
