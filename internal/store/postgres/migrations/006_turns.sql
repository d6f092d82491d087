-- Each turn of a driver begins with a command that nobody ordered: what persons decided is found
-- without reading those.
DROP INDEX messages_orders;
CREATE INDEX messages_orders ON messages(agent_uuid, id) WHERE kind = 'command' AND meta NOT LIKE '%"command":"driver"%';
