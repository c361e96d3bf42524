-- What a workspace is besides its definition. It is locked while lock_reason is not empty and lock_until has not passed;
-- lock_until 0 means that the lock never expires. Times of 0 are none. Last_push and last_pull are JSON, empty for never.
-- Folded is the name in lower case, search all texts that a search looks at: engines fold letters each in their own way.
ALTER TABLE ws_workspaces ADD COLUMN photo            TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_workspaces ADD COLUMN localized        BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ws_workspaces ADD COLUMN last_push        TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_workspaces ADD COLUMN last_pull        TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_workspaces ADD COLUMN lock_reason      TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_workspaces ADD COLUMN lock_by          TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_workspaces ADD COLUMN lock_at          BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ws_workspaces ADD COLUMN lock_until       BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ws_workspaces ADD COLUMN lock_epoch       BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ws_workspaces ADD COLUMN suspended_at     BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ws_workspaces ADD COLUMN suspended_reason TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_workspaces ADD COLUMN deleted_at       BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ws_workspaces ADD COLUMN deleted_by       TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_workspaces ADD COLUMN deleted_slug     TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_workspaces ADD COLUMN folded           TEXT   NOT NULL DEFAULT '';
ALTER TABLE ws_workspaces ADD COLUMN search           TEXT   NOT NULL DEFAULT '';
CREATE INDEX ws_workspaces_deleted ON ws_workspaces (deleted_at) WHERE deleted_at > 0;

-- Texts are kept once by their content. The owner is a workspace, by its id, or an app: app/{slug}.
CREATE TABLE ws_texts (
	owner TEXT NOT NULL,
	hash  TEXT NOT NULL,
	body  TEXT NOT NULL,
	PRIMARY KEY (owner, hash)
);

-- The current documents of a workspace. Path is index, security, automations/{slug}, pages/{slug} or imports/{slug}; folded
-- is the same in lower case, so that no two differ in case alone. Object_id is the id of a page. Search is the texts that a
-- search looks at, in lower case; labels has each label on a line of its own.
CREATE TABLE ws_documents (
	workspace_id TEXT   NOT NULL,
	path         TEXT   NOT NULL,
	folded       TEXT   NOT NULL,
	ext          TEXT   NOT NULL,
	hash         TEXT   NOT NULL,
	size         BIGINT NOT NULL,
	revision     BIGINT NOT NULL,
	object_id    TEXT   NOT NULL,
	summary      TEXT   NOT NULL,
	search       TEXT   NOT NULL,
	labels       TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	created_by   TEXT   NOT NULL,
	updated_at   BIGINT NOT NULL,
	updated_by   TEXT   NOT NULL,
	PRIMARY KEY (workspace_id, path)
);
CREATE UNIQUE INDEX ws_documents_folded ON ws_documents (workspace_id, folded);
CREATE UNIQUE INDEX ws_documents_object ON ws_documents (object_id) WHERE object_id <> '';

-- What was changed, and by which edit. Reason is edit, import, undo, rollback; a hash is empty when there was no document.
CREATE TABLE ws_revisions (
	workspace_id TEXT   NOT NULL,
	revision     BIGINT NOT NULL,
	reason       TEXT   NOT NULL,
	note         TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	created_by   TEXT   NOT NULL,
	PRIMARY KEY (workspace_id, revision)
);
CREATE INDEX ws_revisions_created ON ws_revisions (created_at);
CREATE TABLE ws_changes (
	workspace_id TEXT   NOT NULL,
	revision     BIGINT NOT NULL,
	path         TEXT   NOT NULL,
	before_hash  TEXT   NOT NULL,
	after_hash   TEXT   NOT NULL,
	before_ext   TEXT   NOT NULL,
	after_ext    TEXT   NOT NULL,
	PRIMARY KEY (workspace_id, path, revision)
);
CREATE INDEX ws_changes_revision ON ws_changes (workspace_id, revision);

-- Trees that are kept: native versions, what was last pushed, what was last imported. Tree is the hash of a text that
-- lists the documents.
CREATE TABLE ws_versions (
	workspace_id TEXT   NOT NULL,
	kind         TEXT   NOT NULL,
	name         TEXT   NOT NULL,
	description  TEXT   NOT NULL,
	tree         TEXT   NOT NULL,
	revision     BIGINT NOT NULL,
	created_at   BIGINT NOT NULL,
	created_by   TEXT   NOT NULL,
	PRIMARY KEY (workspace_id, kind, name)
);

-- Operations that hold the lock of a workspace. One whose lease has run out lost its process, and is recovered.
CREATE TABLE ws_operations (
	id           TEXT   NOT NULL PRIMARY KEY,
	workspace_id TEXT   NOT NULL,
	kind         TEXT   NOT NULL,
	epoch        BIGINT NOT NULL,
	started_at   BIGINT NOT NULL,
	started_by   TEXT   NOT NULL,
	lease_until  BIGINT NOT NULL
);
CREATE INDEX ws_operations_lease ON ws_operations (lease_until);
