-- What other programs told of calls of models (meta.driver), and the states of files, are found
-- without reading histories.
CREATE INDEX messages_told ON messages(agent_uuid, id) WHERE kind = 'usage' AND meta LIKE '%"driver":%';
CREATE INDEX messages_files ON messages(agent_uuid, id) WHERE kind = 'files';
