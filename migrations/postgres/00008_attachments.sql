-- compatible-from: 1
-- Blocks that a shared collection holds and that other collections show too, and folders of files. Older builds do
-- not show them.

-- +goose Up
CREATE TABLE attachments (
    tenant     uuid        NOT NULL,
    collection uuid        NOT NULL, -- which shows the block
    block      uuid        NOT NULL, -- a note, or a collection of files
    home       uuid        NOT NULL, -- the collection that holds the block
    label      text        NOT NULL COLLATE "C", -- of the block
    mode       text        NOT NULL, -- 'rw'; 'ro': not changed through this collection; 'folder': block is a collection of files
    at         timestamptz NOT NULL,
    PRIMARY KEY (tenant, collection, block)
);
CREATE UNIQUE INDEX attachments_label ON attachments (tenant, collection, label);
CREATE INDEX attachments_block ON attachments (tenant, block);
CREATE INDEX attachments_home ON attachments (tenant, home);
ALTER TABLE attachments ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON attachments USING (tenant = nullif(current_setting('slipbox.tenant', true), '')::uuid);

-- +goose Down
DROP TABLE attachments;
