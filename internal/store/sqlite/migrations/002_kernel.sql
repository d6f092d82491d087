-- What the kernel needs: replies in progress, spending and budgets, leases by owner.
ALTER TABLE agents ADD COLUMN spent_tokens INTEGER NOT NULL DEFAULT 0; -- by its own calls of models
ALTER TABLE agents ADD COLUMN spent_cost INTEGER NOT NULL DEFAULT 0;   -- in billionths of a US dollar
ALTER TABLE agents ADD COLUMN budget_tokens INTEGER;                   -- NULL: no limit
ALTER TABLE agents ADD COLUMN budget_cost INTEGER;
CREATE INDEX agents_leased ON agents(lease_owner) WHERE lease_owner IS NOT NULL;

CREATE TABLE replies ( -- not part of any history: one being streamed, for each agent
	agent_uuid TEXT PRIMARY KEY,
	after_id   INTEGER NOT NULL, -- counts only while this is the agent's head
	text       BLOB NOT NULL,
	updated_at INTEGER NOT NULL
);

CREATE INDEX messages_usage ON messages(id) WHERE kind = 'usage'; -- what calls of models used
