-- The instances that people listen at, each with its figures as JSON. One that does not show itself for a while is gone.
CREATE TABLE ev_nodes (
	id      TEXT   NOT NULL PRIMARY KEY,
	figures TEXT   NOT NULL,
	seen_at BIGINT NOT NULL
);
