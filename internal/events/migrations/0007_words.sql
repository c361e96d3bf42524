-- Marks also tell where words are, and where every event of a workspace has something at a path. Groups that were made without are
-- made anew: whole is what built was when a group was last made with everything. marks is how many it has.
ALTER TABLE events_mark_groups ADD COLUMN whole BIGINT NOT NULL DEFAULT 0;
ALTER TABLE events_mark_groups ADD COLUMN marks BIGINT NOT NULL DEFAULT 0;
CREATE INDEX events_mark_groups_anew ON events_mark_groups (partition, after_pos) WHERE thinned > 0 OR whole <> built;
DROP INDEX events_mark_groups_thinned;

-- How often events of a partition were removed or changed, for whoever reads them meanwhile to make a group that is not there yet.
CREATE TABLE events_mark_changes (
	partition BIGINT NOT NULL PRIMARY KEY,
	count     BIGINT NOT NULL
);
