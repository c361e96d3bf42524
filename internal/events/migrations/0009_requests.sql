-- Requests have ids in the order of their time: an index that begins with them grows at its end, whatever workspaces they are of.
DROP INDEX bus_events_correlation;
CREATE INDEX bus_events_correlation ON bus_events (correlation_id, workspace_id, pos) WHERE correlation_id IS NOT NULL;
