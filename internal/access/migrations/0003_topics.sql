-- Topics are names in a workspace that events can be meant for. Who has joined one may read the events that are meant for it.
CREATE TABLE access_topics (
	workspace_id TEXT   NOT NULL,
	topic        TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	PRIMARY KEY (workspace_id, topic)
);
CREATE TABLE access_topic_members (
	workspace_id TEXT   NOT NULL,
	user_id      TEXT   NOT NULL,
	topic        TEXT   NOT NULL,
	joined_at    BIGINT NOT NULL,
	PRIMARY KEY (workspace_id, user_id, topic)
);
CREATE INDEX access_topic_members_user ON access_topic_members (user_id);
