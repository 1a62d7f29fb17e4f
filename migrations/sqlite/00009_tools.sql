-- compatible-from: 1
-- Tools of tenants, which agents call over HTTP, and the hosts that a tenant's tools may reach. Older builds do not
-- show the tools: to them an attachment with the mode 'tool' is one of a block that is gone.

-- +goose Up
CREATE TABLE tools (
    tenant     BLOB    NOT NULL,
    id         BLOB    NOT NULL,
    name       TEXT    NOT NULL,
    spec       TEXT    NOT NULL, -- what it does and where
    secrets    BLOB    NOT NULL, -- encrypted; empty: none
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX tools_name ON tools (tenant, name);
ALTER TABLE tenants ADD COLUMN allowed_hosts TEXT NOT NULL DEFAULT ''; -- separated by commas

-- +goose Down
DROP TABLE tools;
DELETE FROM attachments WHERE mode = 'tool';
ALTER TABLE tenants DROP COLUMN allowed_hosts;
