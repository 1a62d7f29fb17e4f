-- compatible-from: 18
-- Grants are what holders of keys let programs do (OAuth). Older builds answer no token of them.

-- +goose Up
CREATE TABLE grants (
    tenant         BLOB NOT NULL,
    id             BLOB NOT NULL,
    api_key        BLOB NOT NULL,
    agent          BLOB NOT NULL, -- of the key
    client         TEXT NOT NULL, -- its name, as it says
    client_hash    BLOB NOT NULL, -- of its id
    redirect       TEXT NOT NULL,
    resource       TEXT NOT NULL,
    permissions    TEXT NOT NULL,
    external_user  TEXT NOT NULL,
    external_agent TEXT NOT NULL,
    challenge      TEXT NOT NULL,
    code           BLOB NOT NULL, -- this and the next two are hashes
    family         BLOB NOT NULL,
    refresh        BLOB NOT NULL,
    created_at     INTEGER NOT NULL,
    used_at        INTEGER NOT NULL, -- 0: the code was not exchanged
    expires_at     INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE grants;
