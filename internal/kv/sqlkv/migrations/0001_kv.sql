-- Keys and values are bytes: BYTEA is PostgreSQL's word, and SQLite keeps a blob under any declared type.
CREATE TABLE kv_values (
	key        BYTEA  NOT NULL PRIMARY KEY,
	value      BYTEA  NOT NULL,
	expires_at BIGINT NOT NULL
);

CREATE INDEX kv_values_expires_at ON kv_values (expires_at);

-- free_at is when the whole burst is free again, in microseconds. sweep_at, in milliseconds, is a coarse time not before
-- it: it seldom changes, so that taking a unit touches no index.
CREATE TABLE kv_limits (
	key      BYTEA  NOT NULL PRIMARY KEY,
	free_at  BIGINT NOT NULL,
	sweep_at BIGINT NOT NULL
);

CREATE INDEX kv_limits_sweep_at ON kv_limits (sweep_at);
