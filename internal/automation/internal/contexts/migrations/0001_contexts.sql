-- One row a context of a workspace: what automations keep in run, user, session, socket and global. A version is never used
-- twice for the same key, so that instances can tell from it alone whether what they remember is still so.
CREATE TABLE rt_contexts (
	workspace_id TEXT   NOT NULL,
	kind         TEXT   NOT NULL,
	id           TEXT   NOT NULL,
	value        TEXT   NOT NULL,
	version      BIGINT NOT NULL,
	expires_at   BIGINT NOT NULL,
	PRIMARY KEY (workspace_id, kind, id)
);

CREATE INDEX rt_contexts_expiry ON rt_contexts (expires_at);
