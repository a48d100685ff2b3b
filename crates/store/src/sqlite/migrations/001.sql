-- Times are milliseconds since 1970. `serial` is the number by which tables know each other.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    serial INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    title TEXT NOT NULL,
    meta TEXT,
    created INTEGER NOT NULL,
    touched INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    records INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_by_time ON sessions (created, serial);
CREATE INDEX sessions_by_owner ON sessions (owner, created, serial);
CREATE INDEX sessions_by_touch ON sessions (touched);

CREATE TABLE records (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    id TEXT NOT NULL,
    parent TEXT,
    run TEXT,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (session, ordinal),
    UNIQUE (session, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshots (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    name TEXT NOT NULL,
    body BLOB NOT NULL,
    expires INTEGER,
    seal BLOB NOT NULL,
    PRIMARY KEY (session, name)
) STRICT;

CREATE INDEX snapshots_by_expiry ON snapshots (expires) WHERE expires IS NOT NULL;

-- `last` and `chain` are those of the newest event, so that a log that lost its end is noticed.
CREATE TABLE runs (
    serial INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    epoch INTEGER NOT NULL,
    key TEXT,
    started INTEGER NOT NULL,
    agent TEXT,
    model TEXT,
    last INTEGER NOT NULL,
    chain BLOB NOT NULL,
    holder TEXT NOT NULL,
    fence INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    ended_at INTEGER,
    ended TEXT,
    summary TEXT,
    UNIQUE (session, epoch)
) STRICT;

CREATE UNIQUE INDEX runs_by_key ON runs (session, key) WHERE key IS NOT NULL;
CREATE INDEX runs_by_time ON runs (started, serial);
CREATE INDEX runs_by_session ON runs (session, started, serial);
CREATE INDEX runs_open ON runs (lease_until) WHERE ended_at IS NULL;

-- In the order in which they are read.
CREATE TABLE events (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    body TEXT NOT NULL,
    chain BLOB NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
