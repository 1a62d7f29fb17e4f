-- compatible-from: 1
-- The log of links is read as that of notes is. The condition holds for all rows, and only the statement that reads the log has it.
-- Webhooks are told of what is in the log; a delivery is what was sent, not what it said. Older builds write without telling them.

-- +goose Up
CREATE INDEX links_log ON links (tenant, layer, from_rev) WHERE from_rev >= 0;
CREATE TABLE webhooks (
    tenant     uuid NOT NULL,
    id         uuid NOT NULL,
    collection uuid NOT NULL, -- zero: every collection
    url        text NOT NULL COLLATE "C",
    events     json NOT NULL, -- empty: all
    secrets    bytea NOT NULL, -- encrypted
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
ALTER TABLE webhooks ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON webhooks USING (tenant = nullif(current_setting('slipbox.tenant', true), '')::uuid);
CREATE TABLE deliveries (
    tenant     uuid NOT NULL,
    webhook    uuid NOT NULL,
    id         uuid NOT NULL,
    collection uuid NOT NULL,
    revision   bigint NOT NULL,
    event      text NOT NULL COLLATE "C",
    state      text NOT NULL COLLATE "C",
    attempts   bigint NOT NULL,
    status     bigint NOT NULL, -- of the last answer; 0: there was none
    error      text NOT NULL COLLATE "C",
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    next_at    timestamptz,
    PRIMARY KEY (tenant, webhook, id)
);
ALTER TABLE deliveries ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON deliveries USING (tenant = nullif(current_setting('slipbox.tenant', true), '')::uuid);

-- +goose Down
DROP TABLE deliveries;
DROP TABLE webhooks;
DROP INDEX links_log;
