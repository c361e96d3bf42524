-- The functions of a workspace that were deployed through the API, as a JSON object of definitions by name.
CREATE TABLE functions (
	workspace_id TEXT   NOT NULL PRIMARY KEY,
	definitions  TEXT   NOT NULL,
	deployed_at  BIGINT NOT NULL
);
