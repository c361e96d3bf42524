-- A transient event is for those who listen when it happens: searches do not find it, and it is soon removed.
ALTER TABLE bus_events ADD COLUMN transient BIGINT NOT NULL DEFAULT 0;
CREATE INDEX bus_events_transient ON bus_events (pos) WHERE transient = 1;

-- Most searches are for a few types.
CREATE INDEX bus_events_type ON bus_events (workspace_id, type, pos);
