-- What calls of models that are under way may come to at worst: set aside in the budgets of
-- their agents and those above, so that no two calls spend the same money. One whose holder
-- died stays, and counts as spent.
CREATE TABLE holds (
	id         TEXT   NOT NULL PRIMARY KEY,
	agent_uuid TEXT   NOT NULL,
	owner      TEXT   NOT NULL,
	tokens     BIGINT NOT NULL,
	cost       BIGINT NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE INDEX holds_agent ON holds(agent_uuid);
