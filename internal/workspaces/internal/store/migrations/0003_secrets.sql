-- The secrets of workspaces. Data is the value, sealed with a key of its own, which the master key key_id wraps: data_key.
-- It is bound to the workspace, the name and the version, which grows with every new value.
CREATE TABLE ws_secrets (
	workspace_id TEXT   NOT NULL,
	name         TEXT   NOT NULL,
	id           TEXT   NOT NULL,
	description  TEXT   NOT NULL,
	version      BIGINT NOT NULL,
	key_id       TEXT   NOT NULL,
	data_key     TEXT   NOT NULL,
	data         TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	created_by   TEXT   NOT NULL,
	updated_at   BIGINT NOT NULL,
	updated_by   TEXT   NOT NULL,
	PRIMARY KEY (workspace_id, name)
);
