-- Sessions, their records, their runs, and the events of the runs.
--
-- Times are milliseconds since 1970, by this server's clock. Texts that are JSON are kept as they
-- were spelled.

CREATE FUNCTION now_ms() RETURNS bigint
    LANGUAGE sql VOLATILE
    AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE TABLE sessions (
    id      text COLLATE "C" PRIMARY KEY,
    serial  bigint GENERATED ALWAYS AS IDENTITY,
    owner   text NOT NULL,
    title   text NOT NULL,
    meta    text,
    created bigint NOT NULL,
    touched bigint NOT NULL,
    epoch   bigint NOT NULL DEFAULT 0,
    records bigint NOT NULL DEFAULT 0
);

CREATE INDEX sessions_by_age ON sessions (created DESC, serial DESC);
CREATE INDEX sessions_by_owner ON sessions (owner, created DESC, serial DESC);
CREATE INDEX sessions_by_touch ON sessions (touched);

CREATE TABLE records (
    session text COLLATE "C" NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    ordinal bigint NOT NULL,
    id      text COLLATE "C" NOT NULL,
    parent  text COLLATE "C",
    run     text COLLATE "C",
    kind    text NOT NULL,
    body    text NOT NULL,
    at      bigint NOT NULL,
    PRIMARY KEY (session, ordinal),
    UNIQUE (session, id)
);

-- `token` is drawn by whoever begins, takes over or ends a run: if the connection is lost while the
-- commit is under way, it tells them later whether the row is theirs.
--
-- `closed` is when the end was written here, whatever time the end itself tells.
--
-- A run's row is written again with every append. Nothing that changes then is in an index, and
-- there is room beside it, so that the new version needs no new index entries.
CREATE TABLE runs (
    id          text COLLATE "C" PRIMARY KEY,
    serial      bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    session     text COLLATE "C" NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    epoch       bigint NOT NULL,
    key         text,
    agent       text,
    model       text,
    started     bigint NOT NULL,
    last        bigint NOT NULL,
    chain       bytea NOT NULL,
    owner       text NOT NULL,
    fence       bigint NOT NULL,
    lease_until bigint NOT NULL,
    token       bigint NOT NULL,
    ended_at    bigint,
    ended       text,
    summary     text,
    closed      bigint,
    UNIQUE (session, epoch),
    CHECK (num_nulls(ended_at, ended, summary, closed) IN (0, 4))
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX runs_by_key ON runs (session, key) WHERE key IS NOT NULL;
CREATE INDEX runs_by_age ON runs (started DESC, serial DESC);
CREATE INDEX runs_at_work ON runs (session) WHERE ended_at IS NULL;
CREATE INDEX runs_by_close ON runs (closed) WHERE closed IS NOT NULL;

-- No reference to the run: it would be checked for every single event, and an event is only ever
-- written by the statement that moves its run's row forward.
CREATE TABLE events (
    run   bigint NOT NULL,
    seq   bigint NOT NULL,
    body  text NOT NULL,
    chain bytea NOT NULL,
    PRIMARY KEY (run, seq)
);

CREATE TABLE snapshots (
    session text COLLATE "C" NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    name    text COLLATE "C" NOT NULL,
    body    bytea NOT NULL,
    expires bigint,
    PRIMARY KEY (session, name)
);

CREATE INDEX snapshots_by_expiry ON snapshots (expires) WHERE expires IS NOT NULL;
