-- What belongs together, and what somebody did, is found in a long history at once.
CREATE INDEX bus_events_correlation ON bus_events (workspace_id, (body::json #>> '{source,correlationId}'), pos);
CREATE INDEX bus_events_user ON bus_events (workspace_id, (body::json #>> '{source,userId}'), pos);
