-- Who has which role in which workspace. A target is user:{id}, or role:superadmin for every super admin.
CREATE TABLE access_grants (
	workspace_id TEXT NOT NULL,
	target       TEXT NOT NULL,
	role         TEXT NOT NULL,
	PRIMARY KEY (workspace_id, target)
);
CREATE INDEX access_grants_target ON access_grants (target, workspace_id);
