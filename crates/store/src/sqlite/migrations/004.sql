-- What the nodes of a store share: small values under keys, which a node may hold.
CREATE TABLE shared (
    key TEXT PRIMARY KEY,
    value BLOB NOT NULL,
    link TEXT,
    version INTEGER NOT NULL,
    holder TEXT,
    expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
