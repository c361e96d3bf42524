-- One row a job: the next tick, and the tick that an instance is working on. Whoever changes next_at from what it was has the
-- tick; the lease tells the others when to take over from an instance that was killed.
CREATE TABLE schedule_jobs (
	name       TEXT   NOT NULL PRIMARY KEY,
	spec       TEXT   NOT NULL,
	next_at    BIGINT NOT NULL,
	running_at BIGINT NOT NULL,
	epoch      BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	last_at    BIGINT NOT NULL,
	last_error TEXT   NOT NULL
);
