-- What persons decided: modes and grants are found without reading histories. From here on
-- entries say who did what (meta.actor, meta.permission), which older versions do not know.
CREATE INDEX messages_orders ON messages(agent_uuid, id) WHERE kind = 'command';

-- Which person sent a letter of the user, and from where.
ALTER TABLE mail ADD COLUMN who TEXT NOT NULL DEFAULT '';
ALTER TABLE mail ADD COLUMN face TEXT NOT NULL DEFAULT '';
