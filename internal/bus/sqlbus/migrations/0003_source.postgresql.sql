-- What belongs together, and what somebody did, is searched for so often that it need not be dug out of the body.
ALTER TABLE bus_events ADD COLUMN correlation_id TEXT;
ALTER TABLE bus_events ADD COLUMN user_id TEXT;
UPDATE bus_events SET correlation_id = body::json #>> '{source,correlationId}', user_id = body::json #>> '{source,userId}';
