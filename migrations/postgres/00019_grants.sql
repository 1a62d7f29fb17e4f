-- compatible-from: 18
-- Grants are what holders of keys let programs do (OAuth). Older builds answer no token of them.

-- +goose Up
CREATE TABLE grants (
    tenant         uuid NOT NULL,
    id             uuid NOT NULL,
    api_key        uuid NOT NULL,
    agent          uuid NOT NULL, -- of the key
    client         text NOT NULL COLLATE "C", -- its name, as it says
    client_hash    bytea NOT NULL, -- of its id
    redirect       text NOT NULL COLLATE "C",
    resource       text NOT NULL COLLATE "C",
    permissions    text[] NOT NULL,
    external_user  text NOT NULL COLLATE "C",
    external_agent text NOT NULL COLLATE "C",
    challenge      text NOT NULL COLLATE "C",
    code           bytea NOT NULL, -- this and the next two are hashes
    family         bytea NOT NULL,
    refresh        bytea NOT NULL,
    created_at     timestamptz NOT NULL,
    used_at        timestamptz, -- NULL: the code was not exchanged
    expires_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
ALTER TABLE grants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON grants USING (tenant = nullif(current_setting('slipbox.tenant', true), '')::uuid);

-- +goose Down
DROP TABLE grants;
