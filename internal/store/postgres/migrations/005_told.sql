-- What other programs told of calls of models (meta.driver), and the states of files, are found
-- without reading histories.
CREATE INDEX messages_told ON messages(agent_uuid, id) WHERE kind = 'usage' AND meta LIKE '%"driver":%';
CREATE INDEX messages_files ON messages(agent_uuid, id) WHERE kind = 'files';

-- What every fork paid for, at each row anew: the server reads and plans a check each time, and
-- asks again for the parent, whose row the fork holds locked. The code that writes these rows is
-- the same on both engines (SQLite keeps its checks, where they cost nothing), and verify looks.
ALTER TABLE agents
	DROP CONSTRAINT IF EXISTS agents_parent_uuid_fkey,
	DROP CONSTRAINT IF EXISTS agents_status_check,
	DROP CONSTRAINT IF EXISTS agents_check;
