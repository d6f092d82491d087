package store

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
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
