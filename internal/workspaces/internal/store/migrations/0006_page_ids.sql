-- The ids of pages that were deleted, by their path: a page that comes back by an undo or a rollback is the same page, with
-- everybody it was shared with.
CREATE TABLE ws_page_ids (
	workspace_id TEXT NOT NULL,
	path         TEXT NOT NULL,
	object_id    TEXT NOT NULL,
	PRIMARY KEY (workspace_id, path)
);
