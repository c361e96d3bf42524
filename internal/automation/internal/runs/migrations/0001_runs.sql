-- How far the events of a partition have become runs. It moves in the transaction that stores them, so that none is stored twice.
CREATE TABLE run_cursors (
	partition BIGINT NOT NULL PRIMARY KEY,
	position  BIGINT NOT NULL
);

-- The instances that run automations. An instance whose beats stand still is gone.
CREATE TABLE run_owners (
	id    TEXT   NOT NULL PRIMARY KEY,
	beats BIGINT NOT NULL
);

-- What is to be run, or is being run: one row an event and automation, until it is done. The id is made of both. event is its text
-- where the log does not keep it. owner is the instance that has it; nobody's is empty. begun tells that it may have a journal,
-- deaths how many instances died that had it, attempts how often it was begun anew after that.
CREATE TABLE runs (
	id           TEXT   NOT NULL PRIMARY KEY,
	workspace_id TEXT   NOT NULL,
	position     BIGINT NOT NULL,
	automation   TEXT   NOT NULL,
	kind         TEXT   NOT NULL,
	cron         TEXT   NOT NULL,
	event        TEXT   NOT NULL,
	owner        TEXT   NOT NULL,
	begun        BIGINT NOT NULL,
	deaths       BIGINT NOT NULL,
	attempts     BIGINT NOT NULL,
	created_at   BIGINT NOT NULL
);
CREATE INDEX runs_workspace ON runs (workspace_id, position);
CREATE INDEX runs_owner ON runs (owner);
CREATE INDEX runs_free ON runs (workspace_id, position) WHERE owner = '';

-- The journal: what a run has done to the platform, and what came of it.
CREATE TABLE run_effects (
	run_id TEXT NOT NULL,
	place  TEXT NOT NULL,
	result TEXT NOT NULL,
	PRIMARY KEY (run_id, place)
);

-- What runs wait for. since is the place in the log that it begins after. run_id is empty for a run that is not begun anew when its
-- process dies.
CREATE TABLE run_waits (
	id           TEXT   NOT NULL PRIMARY KEY,
	run_id       TEXT   NOT NULL,
	workspace_id TEXT   NOT NULL,
	wanted       TEXT   NOT NULL,
	since        BIGINT NOT NULL,
	expires_at   BIGINT NOT NULL,
	state        TEXT   NOT NULL,
	event        TEXT   NOT NULL
);
CREATE INDEX run_waits_run ON run_waits (run_id);
CREATE INDEX run_waits_age ON run_waits (expires_at);

-- The types that somebody still waits for.
CREATE TABLE run_wait_types (
	workspace_id TEXT NOT NULL,
	type         TEXT NOT NULL,
	wait_id      TEXT NOT NULL,
	PRIMARY KEY (workspace_id, type, wait_id)
);
CREATE INDEX run_wait_types_wait ON run_wait_types (wait_id);

-- When schedules are due. Whoever changes next_at from what it was has the tick.
CREATE TABLE run_schedules (
	workspace_id TEXT   NOT NULL,
	automation   TEXT   NOT NULL,
	cron         TEXT   NOT NULL,
	next_at      BIGINT NOT NULL,
	PRIMARY KEY (workspace_id, automation, cron)
);
CREATE INDEX run_schedules_due ON run_schedules (next_at);

-- Workspaces whose schedules have to be held against their definition.
CREATE TABLE run_reconciles (
	workspace_id TEXT   NOT NULL PRIMARY KEY,
	mark         BIGINT NOT NULL
);

-- How far the walk through all workspaces has come that finds what no event told of, and when it goes on.
CREATE TABLE run_walks (
	name  TEXT   NOT NULL PRIMARY KEY,
	place TEXT   NOT NULL,
	at    BIGINT NOT NULL
);
INSERT INTO run_walks (name, place, at) VALUES ('schedules', '', 0);
