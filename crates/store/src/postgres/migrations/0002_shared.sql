-- What the nodes of a store share: small values under keys, which a node may hold. A holder counts
-- while the entry `node NAME` has not expired. `token` as in `runs`.
CREATE TABLE shared (
    key     text COLLATE "C" PRIMARY KEY,
    value   bytea NOT NULL,
    link    text COLLATE "C",
    version bigint NOT NULL,
    holder  text,
    token   bigint NOT NULL DEFAULT 0,
    expires bigint NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX shared_by_expiry ON shared (expires);
