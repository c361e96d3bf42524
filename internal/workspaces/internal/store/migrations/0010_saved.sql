-- Whether the content of the workspace incorporates what was last written to the intermediate branch.
ALTER TABLE ws_syncs ADD COLUMN current BIGINT NOT NULL DEFAULT 0;
