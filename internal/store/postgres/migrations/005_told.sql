-- What is looked for without reading histories: what other programs told of calls of models
-- (meta.driver), the states of files, and the newest words of a user.
CREATE INDEX messages_told ON messages(agent_uuid, id) WHERE kind = 'usage' AND meta LIKE '%"driver":%';
CREATE INDEX messages_files ON messages(agent_uuid, id) WHERE kind = 'files';
CREATE INDEX messages_words ON messages(agent_uuid, id) WHERE kind = 'user';

-- What every fork paid for, at each row anew: the server reads and plans a check each time, and
-- asks again for the parent, whose row the fork holds locked. The code that writes these rows is
-- the same on both engines (SQLite keeps its checks, where they cost nothing), and verify looks.
ALTER TABLE agents
	DROP CONSTRAINT IF EXISTS agents_parent_uuid_fkey,
	DROP CONSTRAINT IF EXISTS agents_status_check,
	DROP CONSTRAINT IF EXISTS agents_check;
