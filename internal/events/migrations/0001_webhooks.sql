-- Webhooks: who is told of which events, what is to be sent, and what came of it.

-- The revision of a workspace's subscriptions. Whoever matches events looks here whether those it remembers are still right;
-- a workspace without a row never had any.
CREATE TABLE ev_subscription_sets (
	workspace_id TEXT   NOT NULL PRIMARY KEY,
	revision     BIGINT NOT NULL
);

-- key_id, data_key and data are the sealed signing keys and headers. reader is whoever made or last changed it: only events
-- that they may read are sent. since is the place in the log that it begins after. due_at is when its queue wants to be looked
-- at; owner, fence and lease_until are the instance that works on it. failures, failing_since and retry_at are its breaker.
CREATE TABLE ev_subscriptions (
	id            TEXT   NOT NULL PRIMARY KEY,
	workspace_id  TEXT   NOT NULL,
	digest        TEXT   NOT NULL,
	url           TEXT   NOT NULL,
	description   TEXT   NOT NULL,
	types         TEXT   NOT NULL,
	filters       TEXT   NOT NULL,
	order_by      TEXT   NOT NULL,
	concurrency   BIGINT NOT NULL,
	signature     TEXT   NOT NULL,
	key_id        TEXT   NOT NULL,
	data_key      TEXT   NOT NULL,
	data          TEXT   NOT NULL,
	reader        TEXT   NOT NULL,
	since         BIGINT NOT NULL,
	state         TEXT   NOT NULL,
	reason        TEXT   NOT NULL,
	state_at      BIGINT NOT NULL,
	revision      BIGINT NOT NULL,
	created_at    BIGINT NOT NULL,
	created_by    TEXT   NOT NULL,
	updated_at    BIGINT NOT NULL,
	updated_by    TEXT   NOT NULL,
	due_at        BIGINT NOT NULL,
	owner         TEXT   NOT NULL,
	fence         BIGINT NOT NULL,
	lease_until   BIGINT NOT NULL,
	failures      BIGINT NOT NULL,
	failing_since BIGINT NOT NULL,
	retry_at      BIGINT NOT NULL,
	last_delivery TEXT   NOT NULL
);
CREATE UNIQUE INDEX ev_subscriptions_digest ON ev_subscriptions (workspace_id, digest);
CREATE INDEX ev_subscriptions_due ON ev_subscriptions (due_at);

-- What is sent: the event as it was when it was matched, once for all subscriptions, and whatever becomes of it in the log.
CREATE TABLE ev_messages (
	workspace_id TEXT   NOT NULL,
	pos          BIGINT NOT NULL,
	type         TEXT   NOT NULL,
	body         TEXT   NOT NULL,
	PRIMARY KEY (workspace_id, pos)
);

-- One event for one subscription. Of those with the same order_key only the first that is pending is ready; place is their
-- order. tries counts the attempts of this round, attempts all of them.
CREATE TABLE ev_deliveries (
	id              TEXT   NOT NULL PRIMARY KEY,
	workspace_id    TEXT   NOT NULL,
	subscription_id TEXT   NOT NULL,
	pos             BIGINT NOT NULL,
	place           BIGINT NOT NULL,
	order_key       TEXT   NOT NULL,
	ready           BIGINT NOT NULL,
	state           TEXT   NOT NULL,
	reason          TEXT   NOT NULL,
	attempts        BIGINT NOT NULL,
	tries           BIGINT NOT NULL,
	due_at          BIGINT NOT NULL,
	created_at      BIGINT NOT NULL,
	finished_at     BIGINT NOT NULL,
	last_status     BIGINT NOT NULL
);
CREATE UNIQUE INDEX ev_deliveries_event ON ev_deliveries (subscription_id, pos);
CREATE INDEX ev_deliveries_due ON ev_deliveries (subscription_id, ready, due_at, place) WHERE state = 'pending';
CREATE INDEX ev_deliveries_order ON ev_deliveries (subscription_id, order_key, place) WHERE state = 'pending' AND order_key <> '';
CREATE INDEX ev_deliveries_age ON ev_deliveries (created_at);
CREATE INDEX ev_deliveries_message ON ev_deliveries (workspace_id, pos);

-- What was sent and what came back. request and response are JSON.
CREATE TABLE ev_attempts (
	delivery_id TEXT   NOT NULL,
	number      BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	took        BIGINT NOT NULL,
	outcome     TEXT   NOT NULL,
	status      BIGINT NOT NULL,
	error       TEXT   NOT NULL,
	request     TEXT   NOT NULL,
	response    TEXT   NOT NULL,
	PRIMARY KEY (delivery_id, number)
);
