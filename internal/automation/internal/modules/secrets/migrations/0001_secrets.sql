-- Secrets that automations keep: of a user or of the whole workspace, by name. Space is the app instance that they belong to, empty
-- for the workspace's own; owner is the user, empty for those of the workspace. A value is sealed under its value_id, so that an older
-- one put back cannot be opened. Those that expires_at does not end have 0 there.
CREATE TABLE run_secrets (
	workspace_id TEXT   NOT NULL,
	space        TEXT   NOT NULL,
	scope        TEXT   NOT NULL,
	owner        TEXT   NOT NULL,
	name         TEXT   NOT NULL,
	value_id     TEXT   NOT NULL,
	key_id       TEXT   NOT NULL,
	data_key     TEXT   NOT NULL,
	data         TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	expires_at   BIGINT NOT NULL,
	PRIMARY KEY (workspace_id, space, scope, owner, name)
);
CREATE UNIQUE INDEX run_secrets_value ON run_secrets (value_id);
CREATE INDEX run_secrets_expiry ON run_secrets (expires_at) WHERE expires_at > 0;
