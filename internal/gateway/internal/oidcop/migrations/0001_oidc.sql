-- Clients that were made here: one for every workspace, and those that registered themselves. Configured ones have no row.
CREATE TABLE oidc_clients (
	id                TEXT   NOT NULL PRIMARY KEY,
	workspace_id      TEXT   UNIQUE,
	metadata          TEXT   NOT NULL,
	secret_hash       TEXT   NOT NULL,
	registration_hash TEXT   NOT NULL,
	created_at        BIGINT NOT NULL,
	updated_at        BIGINT NOT NULL
);

-- Authorization requests that wait for a person, bound to the browser that sent them.
CREATE TABLE oidc_interactions (
	id           TEXT   NOT NULL PRIMARY KEY,
	browser_hash TEXT   NOT NULL,
	request      TEXT   NOT NULL,
	consented_by TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	expires_at   BIGINT NOT NULL
);
CREATE INDEX oidc_interactions_expiry ON oidc_interactions (expires_at);

CREATE TABLE oidc_consents (
	user_id    TEXT   NOT NULL REFERENCES gw_users (id) ON DELETE CASCADE,
	client_id  TEXT   NOT NULL,
	scopes     TEXT   NOT NULL,
	granted_at BIGINT NOT NULL,
	PRIMARY KEY (user_id, client_id)
);
CREATE INDEX oidc_consents_client ON oidc_consents (client_id);

-- What a client was granted once: everything that came of one code is revoked together.
CREATE TABLE oidc_grants (
	id         TEXT   NOT NULL PRIMARY KEY,
	client_id  TEXT   NOT NULL,
	user_id    TEXT   NOT NULL REFERENCES gw_users (id) ON DELETE CASCADE,
	session_id TEXT   NOT NULL,
	scopes     TEXT   NOT NULL,
	auth_time  BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	revoked_at BIGINT NOT NULL
);
CREATE INDEX oidc_grants_user ON oidc_grants (user_id);
CREATE INDEX oidc_grants_client ON oidc_grants (client_id);
CREATE INDEX oidc_grants_expiry ON oidc_grants (expires_at);

CREATE TABLE oidc_codes (
	hash         TEXT   NOT NULL PRIMARY KEY,
	grant_id     TEXT   NOT NULL REFERENCES oidc_grants (id) ON DELETE CASCADE,
	redirect_uri TEXT   NOT NULL,
	challenge    TEXT   NOT NULL,
	nonce        TEXT   NOT NULL,
	expires_at   BIGINT NOT NULL,
	used_at      BIGINT NOT NULL
);
CREATE INDEX oidc_codes_grant ON oidc_codes (grant_id);

CREATE TABLE oidc_refresh (
	hash       TEXT   NOT NULL PRIMARY KEY,
	grant_id   TEXT   NOT NULL REFERENCES oidc_grants (id) ON DELETE CASCADE,
	expires_at BIGINT NOT NULL,
	used_at    BIGINT NOT NULL
);
CREATE INDEX oidc_refresh_grant ON oidc_refresh (grant_id);

-- The access tokens that clients hold, so that they can be revoked.
CREATE TABLE oidc_tokens (
	id         TEXT   NOT NULL PRIMARY KEY,
	grant_id   TEXT   NOT NULL REFERENCES oidc_grants (id) ON DELETE CASCADE,
	expires_at BIGINT NOT NULL,
	revoked_at BIGINT NOT NULL
);
CREATE INDEX oidc_tokens_grant ON oidc_tokens (grant_id);
CREATE INDEX oidc_tokens_revoked ON oidc_tokens (revoked_at) WHERE revoked_at > 0;

CREATE TABLE oidc_devices (
	hash       TEXT   NOT NULL PRIMARY KEY,
	user_code  TEXT   NOT NULL UNIQUE,
	client_id  TEXT   NOT NULL,
	scopes     TEXT   NOT NULL,
	state      TEXT   NOT NULL,
	user_id    TEXT   NOT NULL,
	provider   TEXT   NOT NULL,
	session_id TEXT   NOT NULL,
	auth_time  BIGINT NOT NULL,
	pause      BIGINT NOT NULL,
	polled_at  BIGINT NOT NULL,
	expires_at BIGINT NOT NULL
);
CREATE INDEX oidc_devices_expiry ON oidc_devices (expires_at);
