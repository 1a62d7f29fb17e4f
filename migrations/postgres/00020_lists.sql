-- compatible-from: 18
-- What collections are searched by, and when they were last written. words is the folded name, title and ids; '' where it is not
-- known: such a row is read and compared by its reader. Older builds leave it empty, and do not move written_at, which is moved
-- at most once a minute, so that most writes change no index of the head.

-- +goose Up
ALTER TABLE collections ADD COLUMN words text COLLATE "C" NOT NULL DEFAULT '';
UPDATE collections SET words = lower(concat_ws(E'\n', name, display_name, external_user, external_agent, external_app, external_run))
    WHERE name || display_name || external_user || external_agent || external_app || external_run !~ '[^\x20-\x7e]';
ALTER TABLE collection_heads ADD COLUMN written_at timestamptz NOT NULL DEFAULT now();
UPDATE collection_heads SET written_at = COALESCE(
    (SELECT s.at FROM changesets s WHERE s.tenant = collection_heads.tenant AND s.collection = collection_heads.collection ORDER BY s.revision DESC LIMIT 1),
    (SELECT c.created_at FROM collections c WHERE c.tenant = collection_heads.tenant AND c.id = collection_heads.collection), written_at);
CREATE INDEX heads_written ON collection_heads (tenant, written_at, collection);

-- +goose Down
DROP INDEX heads_written;
ALTER TABLE collection_heads DROP COLUMN written_at;
ALTER TABLE collections DROP COLUMN words;
