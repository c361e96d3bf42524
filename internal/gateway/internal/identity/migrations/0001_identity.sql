CREATE TABLE gw_users (
	id            TEXT   NOT NULL PRIMARY KEY,
	email         TEXT,
	first_name    TEXT   NOT NULL,
	last_name     TEXT   NOT NULL,
	language      TEXT   NOT NULL,
	status        TEXT   NOT NULL,
	anonymous     BIGINT NOT NULL,
	super_admin   BIGINT NOT NULL,
	password_hash TEXT   NOT NULL,
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL,
	expires_at    BIGINT NOT NULL
);
CREATE UNIQUE INDEX gw_users_email ON gw_users (email);
CREATE INDEX gw_users_expiry ON gw_users (anonymous, expires_at);

CREATE TABLE gw_sessions (
	id         TEXT   NOT NULL PRIMARY KEY,
	user_id    TEXT   NOT NULL REFERENCES gw_users (id) ON DELETE CASCADE,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	revoked_at BIGINT NOT NULL
);
CREATE INDEX gw_sessions_user ON gw_sessions (user_id);
CREATE INDEX gw_sessions_expiry ON gw_sessions (expires_at);

-- Signing keys, newest signs. A key follows exactly one other, so two instances cannot both add the first or the next one.
CREATE TABLE gw_keys (
	kid          TEXT   NOT NULL PRIMARY KEY,
	previous_kid TEXT   NOT NULL UNIQUE,
	alg          TEXT   NOT NULL,
	jwk          TEXT   NOT NULL,
	created_at   BIGINT NOT NULL
);
