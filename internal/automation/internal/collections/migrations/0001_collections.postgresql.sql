-- Collections of workspaces and of the app instances in them (namespace; empty for the workspace itself). Definition is the JSON of
-- properties, indexes and uniques; applied is the digest of the app configuration that it was last taken from. Writers of a collection
-- take its row first, so that there is one at a time. Sequence is that of the newest record, newest its time.
CREATE TABLE collections (
	id           TEXT   NOT NULL PRIMARY KEY,
	workspace_id TEXT   NOT NULL,
	namespace    TEXT   NOT NULL,
	name         TEXT   NOT NULL,
	definition   TEXT   NOT NULL,
	applied      TEXT   NOT NULL,
	revision     BIGINT NOT NULL,
	records      BIGINT NOT NULL,
	bytes        BIGINT NOT NULL,
	sequence     BIGINT NOT NULL,
	newest       BIGINT NOT NULL,
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	UNIQUE (workspace_id, namespace, name)
);

-- Records in the order of their sequence. Body is the JSON of the fields that are not null.
CREATE TABLE collection_records (
	collection_id TEXT   NOT NULL,
	id            TEXT   NOT NULL,
	sequence      BIGINT NOT NULL,
	body          TEXT   NOT NULL,
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL,
	created_by    TEXT   NOT NULL,
	updated_by    TEXT   NOT NULL,
	PRIMARY KEY (collection_id, id)
);
CREATE UNIQUE INDEX collection_records_sequence ON collection_records (collection_id, sequence);

-- What indexes know: terms are ordered as values are, byte by byte. Long texts are cut, so a term only tells which records may match.
CREATE TABLE collection_terms (
	collection_id TEXT   NOT NULL,
	slot          BIGINT NOT NULL,
	term          TEXT   COLLATE "C" NOT NULL,
	record_id     TEXT   NOT NULL,
	PRIMARY KEY (collection_id, slot, term, record_id)
);

-- What uniques hold: a digest of the values, of records that have all of them.
CREATE TABLE collection_uniques (
	collection_id TEXT   NOT NULL,
	slot          BIGINT NOT NULL,
	digest        TEXT   NOT NULL,
	record_id     TEXT   NOT NULL,
	PRIMARY KEY (collection_id, slot, digest)
);

-- How much a workspace has, in all its collections.
CREATE TABLE collection_usage (
	workspace_id TEXT   NOT NULL PRIMARY KEY,
	collections  BIGINT NOT NULL,
	records      BIGINT NOT NULL,
	bytes        BIGINT NOT NULL
);
