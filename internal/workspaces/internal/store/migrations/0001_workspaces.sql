CREATE TABLE ws_workspaces (
	id               TEXT   NOT NULL PRIMARY KEY,
	slug             TEXT   NOT NULL UNIQUE,
	name             TEXT   NOT NULL,
	description      TEXT   NOT NULL,
	labels           TEXT   NOT NULL,
	revision         BIGINT NOT NULL,
	content_revision BIGINT NOT NULL,
	pushed_revision  BIGINT NOT NULL,
	created_at       BIGINT NOT NULL,
	created_by       TEXT   NOT NULL,
	updated_at       BIGINT NOT NULL,
	updated_by       TEXT   NOT NULL
);
CREATE INDEX ws_workspaces_created ON ws_workspaces (created_at, id);
