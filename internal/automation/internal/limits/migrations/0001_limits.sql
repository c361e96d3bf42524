-- One row a window of a limit: how much a consumer has used of it, and when it ends. The next window begins with the first use
-- after that.
CREATE TABLE rt_limits (
	workspace_id TEXT   NOT NULL,
	name         TEXT   NOT NULL,
	consumer     TEXT   NOT NULL,
	period       BIGINT NOT NULL,
	used         BIGINT NOT NULL,
	ends_at      BIGINT NOT NULL,
	PRIMARY KEY (workspace_id, name, consumer, period)
);

CREATE INDEX rt_limits_end ON rt_limits (ends_at);
