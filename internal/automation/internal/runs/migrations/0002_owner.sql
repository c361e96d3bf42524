-- Most runs are nobody's while many wait: an index that has those too is of no use to find one's own, and is chosen in place of
-- runs_free all the same, so that each claim would look at every run that waits.
DROP INDEX runs_owner;
CREATE INDEX runs_owner ON runs (owner) WHERE owner <> '';
