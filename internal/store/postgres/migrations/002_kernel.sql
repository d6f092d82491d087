-- What the kernel needs: replies in progress, spending and budgets, leases by owner.
ALTER TABLE agents
	ADD COLUMN spent_tokens  BIGINT NOT NULL DEFAULT 0, -- by its own calls of models
	ADD COLUMN spent_cost    BIGINT NOT NULL DEFAULT 0, -- in billionths of a US dollar
	ADD COLUMN budget_tokens BIGINT,                    -- NULL: no limit
	ADD COLUMN budget_cost   BIGINT;
CREATE INDEX agents_leased ON agents(lease_owner) WHERE lease_owner IS NOT NULL;

CREATE TABLE replies ( -- not part of any history: one being streamed, for each agent
	agent_uuid TEXT COLLATE "C" PRIMARY KEY,
	after_id   BIGINT NOT NULL, -- counts only while this is the agent's head
	text       BYTEA NOT NULL,
	updated_at BIGINT NOT NULL
);

CREATE INDEX messages_usage ON messages(id) WHERE kind = 'usage'; -- what calls of models used
