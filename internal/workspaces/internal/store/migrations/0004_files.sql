-- Files of workspaces. Their bytes are contents of the blob store, named by hash; several files may share one. Metadata is
-- JSON. Expires_at 0 means never.
CREATE TABLE ws_files (
	id            TEXT   NOT NULL PRIMARY KEY,
	workspace_id  TEXT   NOT NULL,
	name          TEXT   NOT NULL,
	mimetype      TEXT   NOT NULL,
	size          BIGINT NOT NULL,
	hash          TEXT   NOT NULL,
	public        BIGINT NOT NULL,
	share_token   TEXT   NOT NULL,
	metadata      TEXT   NOT NULL,
	expires_after BIGINT NOT NULL,
	expires_at    BIGINT NOT NULL,
	revision      BIGINT NOT NULL,
	created_at    BIGINT NOT NULL,
	created_by    TEXT   NOT NULL,
	updated_at    BIGINT NOT NULL,
	updated_by    TEXT   NOT NULL
);
CREATE INDEX ws_files_created ON ws_files (workspace_id, created_at, id);
CREATE INDEX ws_files_hash ON ws_files (hash);
CREATE INDEX ws_files_expires ON ws_files (expires_at) WHERE expires_at > 0;

-- Contents that files had, or that were uploaded for one: each is removed a day after since, unless something refers to it.
-- Claimed_at is when an instance began to remove it; 0 when none has.
CREATE TABLE ws_contents (
	hash       TEXT   NOT NULL PRIMARY KEY,
	since      BIGINT NOT NULL,
	claimed_at BIGINT NOT NULL
);
CREATE INDEX ws_contents_since ON ws_contents (since);
