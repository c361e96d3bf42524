-- The index of events in a search engine. Each time it is built it is another generation; built tells that it has everything that
-- the log had when it was begun.
CREATE TABLE events_index (
	name       TEXT   NOT NULL PRIMARY KEY,
	generation TEXT   NOT NULL,
	started_at BIGINT NOT NULL,
	built      BIGINT NOT NULL
);

-- The indices that it consists of. One that is gone and was not dropped was removed by somebody else.
CREATE TABLE events_index_parts (
	name    TEXT   NOT NULL,
	uuid    TEXT   NOT NULL,
	dropped BIGINT NOT NULL,
	PRIMARY KEY (name, uuid)
);

-- Events that were changed in the log, or removed from it, after the index took them: it has to look at them again.
CREATE TABLE events_index_again (
	partition BIGINT NOT NULL,
	pos       BIGINT NOT NULL,
	PRIMARY KEY (partition, pos)
);

-- Workspaces that were deleted, whose events are removed as soon as they are gone for good.
CREATE TABLE events_gone (
	workspace_id TEXT NOT NULL PRIMARY KEY
);
