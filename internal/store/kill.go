package store

import (
	"context"
	"database/sql"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
)

// Kill implements registry.Registry.
func (s *Store) Kill(ctx context.Context, k registry.Kill) (registry.Killed, error) {
	var out registry.Killed
	if err := k.Check(); err != nil {
		return out, err
	}
	err := s.write(ctx, "kill", func(tx Tx) error {
		out = registry.Killed{}
		r := reader{tx, s.d}
		named, _, err := r.lock(ctx, k.Agent)
		if err != nil {
			return err
		}
		if err := registry.MayKill(named); err != nil {
			return err
		}
		out.Agent, out.Before = named, named.Status == agent.Dead
		victims := []agent.Agent{named}
		if k.Cascade {
			if victims, err = r.lockSubtree(ctx, k.Agent); err != nil {
				return err
			}
		}
		for _, v := range victims {
			if v.Status == agent.Running {
				out.Victims = append(out.Victims, v)
			}
		}
		if len(out.Victims) == 0 {
			return nil
		}
		words, n, err := r.lastWords(ctx, k.By, out.Victims)
		if err != nil {
			return err
		}
		p, err := s.newWriter(ctx, tx, len(out.Victims)+n)
		if err != nil {
			return err
		}
		dying, names := make([]*agent.Agent, len(out.Victims)), make([]id.Agent, len(out.Victims))
		for i := range out.Victims {
			v := &out.Victims[i]
			// The epoch first: the process that held the lease can write no more.
			v.Lease = agent.Lease{Epoch: v.Lease.Epoch + 1}
			if _, err := p.write(v, append(words[v.ID], registry.KilledEntry(k.By, k.Reason))...); err != nil {
				return err
			}
			v.Status, v.EndReason, v.EndedAt = agent.Dead, k.Reason, p.at
			dying[i], names[i] = v, v.ID
			if v.ID == k.Agent {
				out.Agent = *v
			}
		}
		p.tell = s.d.Announce(registry.RingKilled, names...)
		return p.flush(ctx, dying...)
	})
	return out, seekOutcome(err, "a death of agent %s (`ramet ps --all`)", k.Agent)
}

// lockSubtree locks an agent and everything below it, through the dead, in
// creation order: parents before children. A fork that is under way has its
// parent locked, and its children appear only when that lock was waited for; so
// the tree is read again, with all of it locked, until nothing new appears.
func (r reader) lockSubtree(ctx context.Context, root id.Agent) ([]agent.Agent, error) {
	const below = `WHERE uuid IN (
		WITH RECURSIVE tree(uuid) AS (
			SELECT uuid FROM agents WHERE uuid = $1
			UNION
			SELECT a.uuid FROM tree JOIN agents a ON a.parent_uuid = tree.uuid
		) SELECT uuid FROM tree) ORDER BY genesis_id`
	for known := 0; ; {
		found, err := r.agents(ctx, below+r.d.ForUpdate(), string(root))
		if err != nil || len(found) == known || r.d.ForUpdate() == "" {
			return found, err
		}
		known = len(found)
	}
}

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
