-- secret is the authenticator that counts; offered is one that was shown and waits for its first code.
CREATE TABLE factor_totp (
	user_id    TEXT   NOT NULL PRIMARY KEY REFERENCES gw_users (id) ON DELETE CASCADE,
	secret     TEXT   NOT NULL,
	offered    TEXT   NOT NULL,
	offered_at BIGINT NOT NULL,
	last_step  BIGINT NOT NULL,
	created_at BIGINT NOT NULL
);

CREATE TABLE factor_recovery (
	user_id TEXT NOT NULL REFERENCES gw_users (id) ON DELETE CASCADE,
	hash    TEXT NOT NULL,
	PRIMARY KEY (user_id, hash)
);

CREATE TABLE factor_passkeys (
	id            TEXT   NOT NULL PRIMARY KEY,
	user_id       TEXT   NOT NULL REFERENCES gw_users (id) ON DELETE CASCADE,
	credential_id TEXT   NOT NULL UNIQUE,
	name          TEXT   NOT NULL,
	credential    TEXT   NOT NULL,
	sign_count    BIGINT NOT NULL,
	created_at    BIGINT NOT NULL,
	used_at       BIGINT NOT NULL
);
CREATE INDEX factor_passkeys_user ON factor_passkeys (user_id);
