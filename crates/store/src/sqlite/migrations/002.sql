-- Events in the order in which they are read, under one number: with a key of two columns the inner
-- pages of the tree held whole events, and there were many more of them.
CREATE TABLE events_anew (
    place INTEGER PRIMARY KEY,
    run INTEGER AS (place >> 32) VIRTUAL,
    seq INTEGER AS (place & 4294967295) VIRTUAL,
    body TEXT NOT NULL,
    chain BLOB NOT NULL
) STRICT;

INSERT INTO events_anew (place, body, chain)
    SELECT run << 32 | seq, body, chain FROM events ORDER BY run, seq;

DROP TABLE events;
ALTER TABLE events_anew RENAME TO events;

CREATE TRIGGER events_go_with_their_run AFTER DELETE ON runs BEGIN
    DELETE FROM events WHERE place BETWEEN old.serial << 32 AND (old.serial << 32) + 4294967295;
END;
