-- The branch main of a workspace as git clients see it. Head is its commit, content_revision the content of the workspace
-- that the commit is known to have; zero when that is not known yet. Whoever changes the row names the head that it saw.
CREATE TABLE ws_git_heads (
	workspace_id     TEXT   NOT NULL PRIMARY KEY,
	head             TEXT   NOT NULL,
	content_revision BIGINT NOT NULL,
	updated_at       BIGINT NOT NULL
);

-- The packs that the history of a workspace is made of, in their order. Hash is a content of the blob store, head the
-- commit that a repository has which received all packs up to this one.
CREATE TABLE ws_git_packs (
	workspace_id TEXT   NOT NULL,
	number       BIGINT NOT NULL,
	head         TEXT   NOT NULL,
	hash         TEXT   NOT NULL,
	size         BIGINT NOT NULL,
	created_at   BIGINT NOT NULL,
	PRIMARY KEY (workspace_id, number)
);
CREATE INDEX ws_git_packs_hash ON ws_git_packs (hash);
