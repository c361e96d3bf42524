-- Marks tell where in the log events may be that have a value at a path, so that a rare one is found in a long history at once.
-- A group is a part of a partition: the events after after_pos up to last_pos, in blocks whose last positions are block_ends, as
-- numbers of eight bytes. built counts how often it was made, thinned how often events were removed from it since.
CREATE TABLE events_mark_groups (
	partition  BIGINT NOT NULL,
	after_pos  BIGINT NOT NULL,
	last_pos   BIGINT NOT NULL,
	events     BIGINT NOT NULL,
	built      BIGINT NOT NULL,
	thinned    BIGINT NOT NULL,
	block_ends BYTEA  NOT NULL,
	PRIMARY KEY (partition, after_pos)
);
CREATE INDEX events_mark_groups_thinned ON events_mark_groups (partition, after_pos) WHERE thinned > 0;

-- The marks of a group, by some of their bits, in their order: 22 other bits of a mark and the number of its block in four
-- bytes.
CREATE TABLE events_marks (
	partition BIGINT NOT NULL,
	after_pos BIGINT NOT NULL,
	bucket    BIGINT NOT NULL,
	marks     BYTEA  NOT NULL,
	PRIMARY KEY (partition, after_pos, bucket)
);
