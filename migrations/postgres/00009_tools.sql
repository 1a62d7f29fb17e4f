-- compatible-from: 1
-- Tools of tenants, which agents call over HTTP, and the hosts that a tenant's tools may reach. Older builds do not
-- show the tools: to them an attachment with the mode 'tool' is one of a block that is gone.

-- +goose Up
CREATE TABLE tools (
    tenant     uuid        NOT NULL,
    id         uuid        NOT NULL,
    name       text        NOT NULL COLLATE "C",
    spec       json        NOT NULL, -- what it does and where
    secrets    bytea       NOT NULL, -- encrypted; empty: none
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX tools_name ON tools (tenant, name);
ALTER TABLE tools ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON tools USING (tenant = nullif(current_setting('slipbox.tenant', true), '')::uuid);
ALTER TABLE tenants ADD COLUMN allowed_hosts text NOT NULL DEFAULT ''; -- separated by commas

-- +goose Down
DROP TABLE tools;
DELETE FROM attachments WHERE mode = 'tool';
ALTER TABLE tenants DROP COLUMN allowed_hosts;
