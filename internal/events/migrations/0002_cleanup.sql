-- How far a job that goes through the log has come in each partition.
CREATE TABLE events_cleanup (
	job       TEXT   NOT NULL,
	partition BIGINT NOT NULL,
	pos       BIGINT NOT NULL,
	PRIMARY KEY (job, partition)
);
