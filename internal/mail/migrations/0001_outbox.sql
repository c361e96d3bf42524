-- Mails that wait to be sent. What they say is sealed: it holds one-time links.
CREATE TABLE mail_outbox (
	id         TEXT   NOT NULL PRIMARY KEY,
	sealed     TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	due_at     BIGINT NOT NULL,
	attempts   BIGINT NOT NULL,
	holder     TEXT   NOT NULL
);
CREATE INDEX mail_outbox_due ON mail_outbox (due_at);
