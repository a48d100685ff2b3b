-- Finds the held entries that link to a key.
CREATE INDEX shared_held_by_link ON shared (link) WHERE holder IS NOT NULL;
