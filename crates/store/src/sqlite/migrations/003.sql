-- A short run that was stored at once has one row of events: that of its last event, with the events
-- before it in `earlier`, separated by U+001E.
ALTER TABLE events ADD COLUMN earlier TEXT;

-- Every run paid for these. Old sessions are found by the time of their creation, which is never
-- after that of their last change, and the runs of a session by its number.
DROP INDEX sessions_by_touch;
DROP INDEX runs_by_session;
