-- What is looked for without reading histories: what other programs told of calls of models
-- (meta.driver), the states of files, and the newest words of a user.
CREATE INDEX messages_told ON messages(agent_uuid, id) WHERE kind = 'usage' AND meta LIKE '%"driver":%';
CREATE INDEX messages_files ON messages(agent_uuid, id) WHERE kind = 'files';
CREATE INDEX messages_words ON messages(agent_uuid, id) WHERE kind = 'user';
