-- compatible-from: 1
-- When a note expires, and when the first note of a collection does; null: never. next_expiry may be earlier, never later. An older
-- build writes versions without it: a note that it changes no longer expires.

-- +goose Up
ALTER TABLE notes ADD COLUMN expires_at timestamptz;
ALTER TABLE collection_heads ADD COLUMN next_expiry timestamptz;
CREATE INDEX notes_expiry ON notes (tenant, layer, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX heads_expiry ON collection_heads (next_expiry) WHERE next_expiry IS NOT NULL;

-- Functions look for tables in this schema only, whatever the caller's path is.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
-- Collections with notes that may have expired.
-- +goose StatementBegin
CREATE FUNCTION expiring_collections(at timestamptz, most integer) RETURNS TABLE (tenant uuid, collection uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT h.tenant, h.collection FROM collection_heads h
    WHERE h.next_expiry <= at AND (SELECT c.state = 'active' FROM collections c WHERE c.tenant = h.tenant AND c.id = h.collection LIMIT 1)
    ORDER BY h.next_expiry, h.collection LIMIT most
$$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION expiring_collections(timestamptz, integer) FROM PUBLIC;

-- +goose Down
DROP FUNCTION expiring_collections(timestamptz, integer);
DROP INDEX heads_expiry;
DROP INDEX notes_expiry;
ALTER TABLE collection_heads DROP COLUMN next_expiry;
ALTER TABLE notes DROP COLUMN expires_at;
