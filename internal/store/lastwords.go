package store

import (
	"context"
	"database/sql"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
)

// lastWords drafts what ends the open work of victims, before their histories end: what was
// shown of a reply, and results for calls that will not be answered. An agent that ends itself has
// said everything. Only agents that are held are in the middle of something.
func (r reader) lastWords(ctx context.Context, by id.Agent, victims []agent.Agent) (map[id.Agent][]history.Draft, int, error) {
	held := map[id.Agent]bool{}
	for _, v := range victims {
		if v.Lease.Owner != "" && v.ID != by {
			held[v.ID] = true
		}
	}
	if len(held) == 0 {
		return nil, 0, nil
	}
	// One question for all: most of ten thousand wait for their first word.
	all, err := collect(ctx, r.q, scanColumn[id.Agent], `SELECT uuid FROM agents JOIN messages ON id = head_id
			WHERE lease_owner IS NOT NULL AND status = 'running' AND kind IN ('usage', 'tool_result', 'fork', 'mail', 'assistant', 'command')
		UNION SELECT uuid FROM replies JOIN agents ON uuid = agent_uuid WHERE status = 'running' AND head_id = after_id`)
	if err != nil {
		return nil, 0, r.fail("read open work", err)
	}
	out, n := map[id.Agent][]history.Draft{}, 0
	for _, a := range all {
		if !held[a] {
			continue
		}
		drafts, err := r.openWork(ctx, a)
		if err != nil {
			return nil, 0, err
		}
		out[a] = drafts
		n += len(drafts)
	}
	return out, n, nil
}

func (r reader) openWork(ctx context.Context, a id.Agent) ([]history.Draft, error) {
	var out []history.Draft
	shown, ok, err := r.Reply(ctx, a)
	if err != nil {
		return nil, err
	}
	if ok && shown.Text != "" {
		out = append(out, registry.CutOff(shown.Text))
	}
	calls, err := r.unanswered(ctx, a)
	for _, c := range calls {
		out = append(out, registry.NoResult(c))
	}
	return out, err
}

// unanswered returns the calls of the newest answer that have no result.
func (r reader) unanswered(ctx context.Context, a id.Agent) ([]history.Part, error) {
	answer := `coalesce((SELECT id FROM messages WHERE ` + r.d.Backwards(`$1`, `0`, `$2`, ` AND kind = 'assistant'`) + ` LIMIT 1), 1) - 1`
	query := `SELECT id, kind, content FROM messages WHERE ` +
		r.d.Backwards(`$1`, answer, `$2`, ` AND kind IN ('user', 'notice', 'assistant', 'tool_result', 'interrupted', 'clear', 'rewind')`)
	answered := map[string]bool{}
	for e, err := range stream(ctx, r, "read open calls", func(rows *sql.Rows) (history.Entry, bool, error) {
		e := history.Entry{Agent: a}
		err := rows.Scan(&e.ID, &e.Kind, &e.Content)
		return e, true, err
	}, query, string(a), limitOf(history.Bound{})) {
		if err != nil {
			return nil, err
		}
		if e.Kind != history.ToolResult && e.Kind != history.Assistant {
			return nil, nil
		}
		parts, err := e.Parts()
		if err != nil {
			return nil, nil // damage is for verify to tell; it must not keep an agent alive
		}
		var calls []history.Part
		for _, p := range parts {
			switch {
			case p.Type == history.Result:
				answered[p.CallID] = true
			case p.Type == history.ToolCall && !answered[p.CallID]:
				calls = append(calls, p)
			}
		}
		if e.Kind == history.Assistant {
			return calls, nil
		}
	}
	return nil, nil
}
