-- Times are microseconds since 1970, UTC. Rows of agents and messages are never deleted.
CREATE TABLE agents (
	genesis_id      INTEGER PRIMARY KEY, -- id of its first entry: creation order
	uuid            TEXT NOT NULL UNIQUE,
	name            TEXT,
	parent_uuid     TEXT REFERENCES agents(uuid),
	fork_message_id INTEGER,
	depth           INTEGER NOT NULL,
	status          TEXT NOT NULL CHECK (status IN ('running', 'dead')),
	end_reason      TEXT,
	provider        TEXT NOT NULL,
	model           TEXT NOT NULL,
	cwd             TEXT NOT NULL,
	created_at      INTEGER NOT NULL,
	ended_at        INTEGER,
	lease_owner     TEXT,
	lease_epoch     INTEGER NOT NULL DEFAULT 0,
	lease_until     INTEGER,
	head_id         INTEGER NOT NULL,
	head_hash       BLOB NOT NULL,
	own             INTEGER NOT NULL, -- own entries that reach the model
	total           INTEGER NOT NULL, -- messages in the context
	CHECK ((parent_uuid IS NULL) = (fork_message_id IS NULL))
);
CREATE UNIQUE INDEX agents_living_name ON agents(name) WHERE name IS NOT NULL AND status = 'running';
CREATE INDEX agents_dead_name ON agents(name, ended_at) WHERE name IS NOT NULL AND status = 'dead';
CREATE INDEX agents_parent ON agents(parent_uuid);
CREATE UNIQUE INDEX agents_zero ON agents((parent_uuid IS NULL)) WHERE parent_uuid IS NULL;

CREATE TABLE messages (
	id         INTEGER PRIMARY KEY,
	agent_uuid TEXT NOT NULL,
	kind       TEXT NOT NULL,
	content    BLOB,          -- NULL once redacted
	meta       TEXT NOT NULL, -- canonical JSON
	created_at INTEGER NOT NULL,
	hash       BLOB NOT NULL,
	salt       BLOB,          -- NULL once redacted
	commitment BLOB NOT NULL,
	seq        INTEGER NOT NULL -- own entries up to this one that reach the model
);
CREATE INDEX messages_agent ON messages(agent_uuid, id);
CREATE INDEX messages_shaping ON messages(agent_uuid, id) WHERE kind IN ('clear', 'mark', 'rewind', 'compact');

CREATE TABLE mail (
	id          INTEGER PRIMARY KEY,
	number      INTEGER NOT NULL, -- in its mailbox, from 1
	from_uuid   TEXT,             -- NULL: the user
	to_uuid     TEXT NOT NULL REFERENCES agents(uuid),
	body        TEXT NOT NULL,
	salt        BLOB NOT NULL,
	created_at  INTEGER NOT NULL,
	read_at     INTEGER,
	deleted_at  INTEGER,
	in_reply_to INTEGER REFERENCES mail(id),
	UNIQUE (to_uuid, number)
);
CREATE INDEX mail_unread ON mail(to_uuid, number) WHERE read_at IS NULL AND deleted_at IS NULL;

CREATE TABLE blobs (
	hash BLOB NOT NULL UNIQUE, -- SHA-256 of the content
	size INTEGER NOT NULL,
	data BLOB NOT NULL         -- zstd
);
CREATE TABLE blob_refs (
	message_id INTEGER NOT NULL REFERENCES messages(id),
	hash       BLOB NOT NULL,
	PRIMARY KEY (message_id, hash)
) WITHOUT ROWID;
CREATE INDEX blob_refs_hash ON blob_refs(hash);
