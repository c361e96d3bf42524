ALTER TABLE gw_users ADD COLUMN email_verified BIGINT NOT NULL DEFAULT 0;
ALTER TABLE gw_users ADD COLUMN photo TEXT NOT NULL DEFAULT '';
ALTER TABLE gw_users ADD COLUMN meta TEXT NOT NULL DEFAULT '{}';
ALTER TABLE gw_users ADD COLUMN user_groups TEXT NOT NULL DEFAULT '[]';
ALTER TABLE gw_users ADD COLUMN mfa TEXT NOT NULL DEFAULT '';
-- More than one person, or one with several passwords, signed up with the address before it was validated.
ALTER TABLE gw_users ADD COLUMN contested BIGINT NOT NULL DEFAULT 0;
ALTER TABLE gw_users ADD COLUMN updated_by TEXT NOT NULL DEFAULT '';
UPDATE gw_users SET email_verified = 1 WHERE super_admin = 1;

ALTER TABLE gw_sessions ADD COLUMN client_id TEXT NOT NULL DEFAULT '';
ALTER TABLE gw_sessions ADD COLUMN provider TEXT NOT NULL DEFAULT '';
ALTER TABLE gw_sessions ADD COLUMN factor_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE gw_sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE gw_sessions ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE gw_sessions ADD COLUMN seen_at BIGINT NOT NULL DEFAULT 0;
-- The cookie that keeps a browser signed in holds a secret of its own; only its hash is here.
ALTER TABLE gw_sessions ADD COLUMN browser_hash TEXT;
ALTER TABLE gw_sessions ADD COLUMN browser_expires_at BIGINT NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX gw_sessions_browser ON gw_sessions (browser_hash);

-- What an external provider says of a user. A person is known by the provider and its subject, never by an address.
CREATE TABLE gw_links (
	provider   TEXT   NOT NULL,
	subject    TEXT   NOT NULL,
	user_id    TEXT   NOT NULL REFERENCES gw_users (id) ON DELETE CASCADE,
	claims     TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (provider, subject)
);
CREATE INDEX gw_links_user ON gw_links (user_id);

CREATE TABLE gw_access_tokens (
	id         TEXT   NOT NULL PRIMARY KEY,
	user_id    TEXT   NOT NULL REFERENCES gw_users (id) ON DELETE CASCADE,
	name       TEXT   NOT NULL,
	hash       TEXT   NOT NULL UNIQUE,
	mask       TEXT   NOT NULL,
	scopes     TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	used_at    BIGINT NOT NULL
);
CREATE INDEX gw_access_tokens_user ON gw_access_tokens (user_id);
CREATE INDEX gw_access_tokens_expiry ON gw_access_tokens (expires_at);

-- Mailed one-time tokens: used once, for one purpose, by whoever holds the mail.
CREATE TABLE gw_one_time (
	hash       TEXT   NOT NULL PRIMARY KEY,
	purpose    TEXT   NOT NULL,
	user_id    TEXT   NOT NULL REFERENCES gw_users (id) ON DELETE CASCADE,
	expires_at BIGINT NOT NULL
);
CREATE INDEX gw_one_time_user ON gw_one_time (user_id, purpose);
CREATE INDEX gw_one_time_expiry ON gw_one_time (expires_at);

CREATE TABLE gw_service_accounts (
	slug        TEXT   NOT NULL PRIMARY KEY,
	user_id     TEXT   NOT NULL UNIQUE REFERENCES gw_users (id) ON DELETE CASCADE,
	description TEXT   NOT NULL,
	hash        TEXT   NOT NULL UNIQUE,
	mask        TEXT   NOT NULL,
	scopes      TEXT   NOT NULL,
	disabled    BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	rotated_at  BIGINT NOT NULL,
	used_at     BIGINT NOT NULL
);

-- What several transactions must not decide at once.
CREATE TABLE gw_locks (
	name  TEXT   NOT NULL PRIMARY KEY,
	taken BIGINT NOT NULL
);
INSERT INTO gw_locks (name, taken) VALUES ('admins', 0);

CREATE TABLE gw_photos (
	hash       TEXT   NOT NULL,
	user_id    TEXT   NOT NULL REFERENCES gw_users (id) ON DELETE CASCADE,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (hash, user_id)
);
