-- compatible-from: 1
-- Webhooks are told of what is in the log; a delivery is what was sent, not what it said. Older builds write without telling them.

-- +goose Up
CREATE TABLE webhooks (
    tenant     BLOB NOT NULL,
    id         BLOB NOT NULL,
    collection BLOB NOT NULL, -- zero: every collection
    url        TEXT NOT NULL,
    events     TEXT NOT NULL, -- empty: all
    secrets    BLOB NOT NULL, -- encrypted
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE deliveries (
    tenant     BLOB NOT NULL,
    webhook    BLOB NOT NULL,
    id         BLOB NOT NULL,
    collection BLOB NOT NULL,
    revision   INTEGER NOT NULL,
    event      TEXT NOT NULL,
    state      TEXT NOT NULL,
    attempts   INTEGER NOT NULL,
    status     INTEGER NOT NULL, -- of the last answer; 0: there was none
    error      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    next_at    INTEGER NOT NULL,
    PRIMARY KEY (tenant, webhook, id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DELETE FROM jobs WHERE stage = 'send';
DROP TABLE deliveries;
DROP TABLE webhooks;
