-- compatible-from: 3
-- contract: no release has what is dropped, and checkouts before this step ask SQLite for the index by its name

-- +goose Up
-- notes_newest_by_key begins with the same columns, and holds the same rows.
DROP INDEX notes_key;
-- backlog_at counts what waits.
DROP FUNCTION backlog(text);

-- +goose Down
CREATE INDEX notes_key ON notes (tenant, layer, kind, key) WHERE key <> '';
-- +goose StatementBegin
CREATE FUNCTION backlog(of text, OUT waiting bigint, OUT oldest timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT count(*), min(j.created_at) FROM jobs j WHERE j.state = 'queued' AND j.stage = of
$$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION backlog(text) FROM PUBLIC;
