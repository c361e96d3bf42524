-- The log has both by themselves now. Most events of some workspaces are nobody's, and take no place in the index of people.
DROP INDEX bus_events_correlation;
DROP INDEX bus_events_user;
CREATE INDEX bus_events_correlation ON bus_events (workspace_id, correlation_id, pos) WHERE correlation_id IS NOT NULL;
CREATE INDEX bus_events_user ON bus_events (workspace_id, user_id, pos) WHERE user_id IS NOT NULL;
