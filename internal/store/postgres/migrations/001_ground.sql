-- Times are microseconds since 1970, UTC. Rows of agents and messages are never deleted.
CREATE SEQUENCE message_ids AS BIGINT;
CREATE SEQUENCE letter_ids AS BIGINT;

CREATE TABLE agents (
	genesis_id      BIGINT PRIMARY KEY, -- id of its first entry: creation order
	uuid            TEXT COLLATE "C" NOT NULL UNIQUE,
	name            TEXT COLLATE "C",
	parent_uuid     TEXT COLLATE "C" REFERENCES agents(uuid),
	fork_message_id BIGINT,
	depth           BIGINT NOT NULL,
	status          TEXT NOT NULL CHECK (status IN ('running', 'dead')),
	end_reason      TEXT,
	provider        TEXT NOT NULL,
	model           TEXT NOT NULL,
	cwd             TEXT NOT NULL,
	created_at      BIGINT NOT NULL,
	ended_at        BIGINT,
	lease_owner     TEXT,
	lease_epoch     BIGINT NOT NULL DEFAULT 0,
	lease_until     BIGINT,
	head_id         BIGINT NOT NULL,
	head_hash       BYTEA NOT NULL,
	own             BIGINT NOT NULL, -- own entries that reach the model
	total           BIGINT NOT NULL, -- messages in the context
	CHECK ((parent_uuid IS NULL) = (fork_message_id IS NULL))
) WITH (fillfactor = 70); -- every append updates its agent's row in place
CREATE UNIQUE INDEX agents_living_name ON agents(name) WHERE name IS NOT NULL AND status = 'running';
CREATE INDEX agents_dead_name ON agents(name, ended_at) WHERE name IS NOT NULL AND status = 'dead';
CREATE INDEX agents_parent ON agents(parent_uuid);
CREATE UNIQUE INDEX agents_zero ON agents((parent_uuid IS NULL)) WHERE parent_uuid IS NULL;

CREATE TABLE messages (
	id         BIGINT PRIMARY KEY,
	agent_uuid TEXT COLLATE "C" NOT NULL,
	kind       TEXT NOT NULL,
	content    BYTEA,         -- NULL once redacted
	meta       TEXT NOT NULL, -- canonical JSON
	created_at BIGINT NOT NULL,
	hash       BYTEA NOT NULL,
	salt       BYTEA,         -- NULL once redacted
	commitment BYTEA NOT NULL,
	seq        BIGINT NOT NULL, -- own entries up to this one that reach the model
	txid       xid8 NOT NULL DEFAULT pg_current_xact_id() -- for the feed: which transaction wrote it
);
CREATE INDEX messages_agent ON messages(agent_uuid, id);
CREATE INDEX messages_shaping ON messages(agent_uuid, id) WHERE kind IN ('clear', 'mark', 'rewind', 'compact');
CREATE INDEX messages_feed ON messages(txid);

CREATE TABLE mail (
	id          BIGINT PRIMARY KEY,
	number      BIGINT NOT NULL, -- in its mailbox, from 1
	from_uuid   TEXT COLLATE "C", -- NULL: the user
	to_uuid     TEXT COLLATE "C" NOT NULL REFERENCES agents(uuid),
	body        TEXT NOT NULL,
	salt        BYTEA NOT NULL,
	created_at  BIGINT NOT NULL,
	read_at     BIGINT,
	deleted_at  BIGINT,
	in_reply_to BIGINT REFERENCES mail(id),
	txid        xid8 NOT NULL DEFAULT pg_current_xact_id(),
	UNIQUE (to_uuid, number)
);
CREATE INDEX mail_unread ON mail(to_uuid, number) WHERE read_at IS NULL AND deleted_at IS NULL;
CREATE INDEX mail_feed ON mail(txid);

CREATE TABLE blobs (
	hash BYTEA PRIMARY KEY, -- SHA-256 of the content
	size BIGINT NOT NULL,
	data BYTEA NOT NULL     -- zstd
);
ALTER TABLE blobs ALTER COLUMN data SET STORAGE EXTERNAL; -- packed already
CREATE TABLE blob_refs (
	message_id BIGINT NOT NULL REFERENCES messages(id),
	hash       BYTEA NOT NULL,
	PRIMARY KEY (message_id, hash)
);
CREATE INDEX blob_refs_hash ON blob_refs(hash);
