-- The signing keys have moved to a component of their own. They go on with the times that a key has by default: thirty
-- days to sign, thirty more to verify.
INSERT INTO keyring_keys (kid, previous_kid, alg, jwk, created_at, signs_at, rotates_at, expires_at)
	SELECT kid, previous_kid, alg, jwk, created_at, created_at, created_at + 2592000000, created_at + 5184000000 FROM gw_keys
	WHERE NOT EXISTS (SELECT 1 FROM keyring_keys);
DROP TABLE gw_keys;
