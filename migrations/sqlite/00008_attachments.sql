-- compatible-from: 1
-- Blocks that a shared collection holds and that other collections show too, and folders of files. Older builds do
-- not show them.

-- +goose Up
CREATE TABLE attachments (
    tenant     BLOB    NOT NULL,
    collection BLOB    NOT NULL, -- which shows the block
    block      BLOB    NOT NULL, -- a note, or a collection of files
    home       BLOB    NOT NULL, -- the collection that holds the block
    label      TEXT    NOT NULL, -- of the block
    mode       TEXT    NOT NULL, -- 'rw'; 'ro': not changed through this collection; 'folder': block is a collection of files
    at         INTEGER NOT NULL,
    PRIMARY KEY (tenant, collection, block)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX attachments_label ON attachments (tenant, collection, label);
CREATE INDEX attachments_block ON attachments (tenant, block);
CREATE INDEX attachments_home ON attachments (tenant, home);

-- +goose Down
DROP TABLE attachments;
