-- Answers kept for an Idempotency-Key. committed is set in the transaction that does the request's work.
CREATE TABLE http_idempotency (
	id          TEXT   NOT NULL PRIMARY KEY,
	fingerprint TEXT   NOT NULL,
	committed   BIGINT NOT NULL,
	started_at  BIGINT NOT NULL,
	expires_at  BIGINT NOT NULL,
	status      BIGINT NOT NULL,
	headers     TEXT   NOT NULL,
	body        TEXT   NOT NULL
);
CREATE INDEX http_idempotency_expiry ON http_idempotency (expires_at);
