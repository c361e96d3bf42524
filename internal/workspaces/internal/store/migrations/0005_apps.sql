-- Apps are published workspaces. Folded is the slug in lower case, so that no two differ in case alone. Workspace_id is empty
-- when the workspace is gone and only its app is left, for those who use it. Name, description and labels are those of
-- the newest version, which is called version; description is JSON: a text, or texts by language.
CREATE TABLE ws_apps (
	slug         TEXT   NOT NULL PRIMARY KEY,
	folded       TEXT   NOT NULL UNIQUE,
	workspace_id TEXT   NOT NULL,
	name         TEXT   NOT NULL,
	description  TEXT   NOT NULL,
	labels       TEXT   NOT NULL,
	version      TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	created_by   TEXT   NOT NULL,
	updated_at   BIGINT NOT NULL,
	updated_by   TEXT   NOT NULL
);
CREATE UNIQUE INDEX ws_apps_workspace ON ws_apps (workspace_id) WHERE workspace_id <> '';
CREATE INDEX ws_apps_created ON ws_apps (created_at, slug);

-- The versions of apps, numbered in their order. Tree and outline are hashes of texts whose owner is app/{slug}: the list of
-- the version's documents, and what is known of it without reading them.
CREATE TABLE ws_app_versions (
	app_slug    TEXT   NOT NULL,
	name        TEXT   NOT NULL,
	number      BIGINT NOT NULL,
	description TEXT   NOT NULL,
	tree        TEXT   NOT NULL,
	outline     TEXT   NOT NULL,
	created_at  BIGINT NOT NULL,
	created_by  TEXT   NOT NULL,
	PRIMARY KEY (app_slug, name)
);
CREATE UNIQUE INDEX ws_app_versions_number ON ws_app_versions (app_slug, number);

-- The app that a document is an instance of; empty for any other document.
ALTER TABLE ws_documents ADD COLUMN app_slug TEXT NOT NULL DEFAULT '';
CREATE INDEX ws_documents_app ON ws_documents (app_slug) WHERE app_slug <> '';
