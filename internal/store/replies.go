package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/registry"
)

// KeepReplies implements registry.Replies. The rows of the agents are looked at
// but not locked: a reply that was overtaken meanwhile no longer follows the
// newest entry and so does not count.
func (s *Store) KeepReplies(ctx context.Context, replies []registry.Reply) error {
	batches := batchReplies(replies)
	if len(batches) == 0 {
		return nil
	}
	return s.write(ctx, "keep replies", func(tx Tx) error {
		for _, batch := range batches {
			if err := s.keep(ctx, tx, batch); err != nil {
				return err
			}
		}
		return nil
	})
}

// batchReplies cuts replies into what goes into one statement, which names an
// agent once at most, and leaves out those that demand another head than the one
// they follow.
func batchReplies(replies []registry.Reply) [][]registry.Reply {
	var out [][]registry.Reply
	within := map[id.Agent]bool{}
	for _, r := range replies {
		if head, ok := r.Claim.Head(); ok && head != r.After {
			continue
		}
		if len(out) == 0 || len(out[len(out)-1]) == chunk || within[r.Agent] {
			out = append(out, nil)
			clear(within)
		}
		within[r.Agent] = true
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	return out
}

func (s *core) keep(ctx context.Context, tx Tx, replies []registry.Reply) error {
	const columns = 5
	var shown strings.Builder
	args := make([]any, 0, columns*len(replies))
	for i, r := range replies {
		if i > 0 {
			shown.WriteString(", ")
		}
		n := len(args)
		fmt.Fprintf(&shown, `(CAST($%d AS TEXT), CAST($%d AS BIGINT), CAST($%d AS %s), CAST($%d AS TEXT), CAST($%d AS BIGINT))`,
			n+1, n+2, n+3, s.d.Bytes(), n+4, n+5)
		var holder any
		owner, epoch, held := r.Claim.Holder()
		if held {
			holder = owner
		}
		args = append(args, string(r.Agent), int64(r.After), []byte(r.Text), holder, epoch)
	}
	// The condition is agent.Admit's.
	_, err := tx.ExecContext(ctx, `WITH shown(agent, after, said, owner, epoch) AS (VALUES `+shown.String()+`)
		INSERT INTO replies (agent_uuid, after_id, text, updated_at)
		SELECT agent, after, said, `+s.d.Now()+` FROM shown JOIN agents ON uuid = agent
		WHERE status = 'running' AND head_id = after AND CASE WHEN owner IS NULL
			THEN lease_owner IS NULL OR lease_until <= `+s.d.Now()+`
			ELSE lease_owner = owner AND lease_epoch = epoch END
		ON CONFLICT (agent_uuid) DO UPDATE SET after_id = excluded.after_id, text = excluded.text, updated_at = excluded.updated_at`,
		args...)
	return err
}

// Reply implements registry.Replies.
func (r reader) Reply(ctx context.Context, a id.Agent) (registry.Reply, bool, error) {
	out := registry.Reply{Agent: a}
	var text []byte
	err := r.q.QueryRowContext(ctx, `SELECT after_id, text FROM replies JOIN agents ON uuid = agent_uuid
		WHERE agent_uuid = $1 AND status = 'running' AND head_id = after_id`, string(a)).Scan(&out.After, &text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return registry.Reply{}, false, nil
	case err != nil:
		return registry.Reply{}, false, r.fail("read reply", err)
	}
	out.Text = string(text)
	return out, true, nil
}

// dropReply leaves nothing of an agent's reply, over or not: it may say what is
// redacted.
func (s *core) dropReply(ctx context.Context, tx Tx, a id.Agent) error {
	if err := s.d.LockTable(ctx, tx, "replies"); err != nil { // one that is being kept must not come back behind this
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM replies WHERE agent_uuid = $1`, string(a))
	return err
}
