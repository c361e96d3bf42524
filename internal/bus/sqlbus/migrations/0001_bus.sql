-- The log itself. A partition's events are read in the order of their positions, a workspace's likewise.
CREATE TABLE bus_events (
	partition    BIGINT NOT NULL,
	pos          BIGINT NOT NULL,
	workspace_id TEXT   NOT NULL,
	type         TEXT   NOT NULL,
	body         TEXT   NOT NULL,
	PRIMARY KEY (partition, pos)
);
CREATE INDEX bus_events_workspace ON bus_events (workspace_id, pos);

-- The last position given out in each partition. Whoever appends holds the row until the commit.
CREATE TABLE bus_heads (
	partition BIGINT NOT NULL PRIMARY KEY,
	last_pos  BIGINT NOT NULL
);
INSERT INTO bus_heads (partition, last_pos) VALUES
	(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7),
	(8, 8), (9, 9), (10, 10), (11, 11), (12, 12), (13, 13), (14, 14), (15, 15);

-- How far a consumer has come in each partition, and which of its instances works on it. cursor is the place in the
-- broker's stream where there is one; last_pos decides.
CREATE TABLE bus_cursors (
	consumer   TEXT   NOT NULL,
	partition  BIGINT NOT NULL,
	cursor     BIGINT NOT NULL,
	last_pos   BIGINT NOT NULL,
	owner      TEXT   NOT NULL,
	epoch      BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	PRIMARY KEY (consumer, partition)
);

-- The running instances of each consumer, so that they share the partitions evenly.
CREATE TABLE bus_members (
	consumer   TEXT   NOT NULL,
	owner      TEXT   NOT NULL,
	expires_at BIGINT NOT NULL,
	PRIMARY KEY (consumer, owner)
);

-- Secrets the instances share, made by the first one that needs them.
CREATE TABLE bus_keys (
	name   TEXT NOT NULL PRIMARY KEY,
	secret TEXT NOT NULL
);
