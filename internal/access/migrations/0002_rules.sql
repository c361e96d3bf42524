-- Grants are on objects now: a workspace, or a page of one. A target is user:{id}, role:{name} for the holders of a role
-- in the workspace, role:superadmin for every super admin, or * for everyone. Policies is a set of bits: 1 read, 2 write,
-- 4 update, 8 create, 16 manage_permissions.
CREATE TABLE access_object_grants (
	workspace_id TEXT   NOT NULL,
	subject_type TEXT   NOT NULL,
	subject_id   TEXT   NOT NULL,
	target       TEXT   NOT NULL,
	role         TEXT   NOT NULL,
	policies     BIGINT NOT NULL,
	PRIMARY KEY (subject_type, subject_id, target)
);
INSERT INTO access_object_grants (workspace_id, subject_type, subject_id, target, role, policies)
	SELECT workspace_id, 'workspaces', workspace_id, target, role, 0 FROM access_grants;
DROP TABLE access_grants;
ALTER TABLE access_object_grants RENAME TO access_grants;
CREATE INDEX access_grants_target ON access_grants (target, workspace_id);
CREATE INDEX access_grants_workspace ON access_grants (workspace_id, target);

-- The security document of a workspace as it was written, and its digest. Opens_reading is 1 when the rules can give or
-- take the right to read the workspace otherwise than grants do, so that a list of workspaces has to look at them;
-- reading is what of the document it looks at, as JSON.
-- Client_id is the OpenID Connect client of the workspace's pages; the gateway sets it.
CREATE TABLE access_security (
	workspace_id  TEXT   NOT NULL PRIMARY KEY,
	document      TEXT   NOT NULL,
	digest        TEXT   NOT NULL,
	revision      BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL,
	updated_by    TEXT   NOT NULL,
	opens_reading BIGINT NOT NULL,
	reading       TEXT   NOT NULL,
	client_id     TEXT   NOT NULL DEFAULT ''
);
CREATE INDEX access_security_reading ON access_security (opens_reading, workspace_id);

-- API keys. Hash is the SHA-256 of the whole secret; the key of a role has none that a secret could have. Rules is the
-- request's rules as JSON, prefix and last4 are for masks, zero is no time.
CREATE TABLE access_api_keys (
	id           TEXT   NOT NULL PRIMARY KEY,
	workspace_id TEXT   NOT NULL,
	name         TEXT   NOT NULL,
	role         TEXT   NOT NULL,
	hash         TEXT   NOT NULL UNIQUE,
	prefix       TEXT   NOT NULL,
	last4        TEXT   NOT NULL,
	rules        TEXT   NOT NULL,
	disabled     BIGINT NOT NULL,
	created_at   BIGINT NOT NULL,
	created_by   TEXT   NOT NULL,
	expires_at   BIGINT NOT NULL,
	last_used_at BIGINT NOT NULL
);
CREATE INDEX access_api_keys_workspace ON access_api_keys (workspace_id, role, created_at, id);
