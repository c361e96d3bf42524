-- A bulk import or push. Its id is that of the operation that holds the lock of the platform workspace; epoch is that of whoever
-- works on it. Options are what was asked for, as JSON, and principal who acts when that is no user. Listed tells that its
-- workspaces are frozen; source is the commit that they come from. Stalled counts how often it was taken up again without
-- having got any further since.
CREATE TABLE ws_bulks (
	id            TEXT   NOT NULL PRIMARY KEY,
	kind          TEXT   NOT NULL,
	epoch         BIGINT NOT NULL,
	status        TEXT   NOT NULL,
	repository_id TEXT   NOT NULL,
	place         TEXT   NOT NULL,
	options       TEXT   NOT NULL,
	principal     TEXT   NOT NULL,
	listed        BIGINT NOT NULL,
	source        TEXT   NOT NULL,
	resumed       BIGINT NOT NULL,
	stalled       BIGINT NOT NULL,
	started_at    BIGINT NOT NULL,
	started_by    TEXT   NOT NULL,
	ended_at      BIGINT NOT NULL
);

-- The workspaces of a bulk operation in their order. Item is what was frozen of one, outcome what came of it; empty until then.
CREATE TABLE ws_bulk_items (
	bulk_id  TEXT   NOT NULL,
	position BIGINT NOT NULL,
	item     TEXT   NOT NULL,
	outcome  TEXT   NOT NULL,
	PRIMARY KEY (bulk_id, position)
);
