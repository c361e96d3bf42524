-- What a workspace and a repository last had in common. Place is a fingerprint of where the repository is: another one is
-- another history. Target_commit is the commit of the target branch that the workspace incorporates, target_tree the folder of
-- the workspace in it, saved_commit what was last written to the intermediate branch. The documents that both had are the
-- tree of kind base in ws_versions, named after the repository. Previous is this row before the last pull, as JSON, and
-- pulled_revision the edit that the pull was: undoing it brings previous back. Drift is what was last found.
CREATE TABLE ws_syncs (
	workspace_id    TEXT   NOT NULL,
	repository_id   TEXT   NOT NULL,
	place           TEXT   NOT NULL,
	target_commit   TEXT   NOT NULL,
	target_tree     TEXT   NOT NULL,
	saved_commit    TEXT   NOT NULL,
	previous        TEXT   NOT NULL,
	pulled_revision BIGINT NOT NULL,
	drift           TEXT   NOT NULL,
	checked_at      BIGINT NOT NULL,
	PRIMARY KEY (workspace_id, repository_id)
);
CREATE INDEX ws_syncs_checked ON ws_syncs (checked_at);

-- The conflict for which a workspace is locked. Data is JSON: where it came from, and what was settled so far.
CREATE TABLE ws_conflicts (
	workspace_id  TEXT   NOT NULL PRIMARY KEY,
	repository_id TEXT   NOT NULL,
	data          TEXT   NOT NULL,
	created_at    BIGINT NOT NULL,
	created_by    TEXT   NOT NULL
);

-- The host keys of SSH servers, pinned at the first contact.
CREATE TABLE ws_host_keys (
	workspace_id TEXT   NOT NULL,
	host         TEXT   NOT NULL,
	known_hosts  TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	created_by   TEXT   NOT NULL,
	PRIMARY KEY (workspace_id, host)
);

-- An operation is kept for a while when it has ended, so that it can be asked for. Plan is what it is about to do to a
-- repository, as JSON, so that whoever recovers it can ask the repository whether it was done; previous is the lock that it
-- took over, which comes back when it fails; result is its answer or its error, as JSON.
ALTER TABLE ws_operations ADD COLUMN repository_id TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_operations ADD COLUMN step          TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_operations ADD COLUMN plan          TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_operations ADD COLUMN previous      TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_operations ADD COLUMN status        TEXT   NOT NULL DEFAULT 'running';
ALTER TABLE ws_operations ADD COLUMN result        TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_operations ADD COLUMN ended_at      BIGINT NOT NULL DEFAULT 0;
CREATE INDEX ws_operations_workspace ON ws_operations (workspace_id, started_at);

-- The repository that a version was pushed to; empty for a native one.
ALTER TABLE ws_versions ADD COLUMN repository_id TEXT NOT NULL DEFAULT '';
