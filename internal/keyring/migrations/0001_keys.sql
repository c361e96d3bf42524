-- Signing keys. A key follows exactly one other, so two instances cannot both add the first or the next one. It is known
-- to everybody from created_at, signs from signs_at to rotates_at, and verifies until expires_at.
CREATE TABLE keyring_keys (
	kid          TEXT   NOT NULL PRIMARY KEY,
	previous_kid TEXT   NOT NULL UNIQUE,
	alg          TEXT   NOT NULL,
	jwk          TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	signs_at     BIGINT NOT NULL,
	rotates_at   BIGINT NOT NULL,
	expires_at   BIGINT NOT NULL
);
CREATE INDEX keyring_keys_expiry ON keyring_keys (expires_at);

-- The keys that the last event of a type left its readers with. Whoever moves it on appends the event, in the same commit.
CREATE TABLE keyring_announced (
	event_type TEXT NOT NULL PRIMARY KEY,
	kids       TEXT NOT NULL
);
