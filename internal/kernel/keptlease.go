package kernel

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
)

// Kept is an agent whose lease the kernel holds beyond turns.
type Kept struct {
	kernel *Kernel
	id     id.Agent
}

// Keep holds the lease of an agent beyond its turns, until Release: its row then shows that its owner lives.
// A run's orchestrator keeps the run's own agent this way. LEASED while another process holds it, CONFLICT if
// another one took it meanwhile. Keep may be called again for an agent whose lease was lost.
func (k *Kernel) Keep(ctx context.Context, a id.Agent) (Kept, error) {
	if err := k.mended(ctx, a); err != nil {
		return Kept{}, err
	}
	held, err := k.acquire(ctx, a)
	if err != nil {
		return Kept{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keeps[a] = held.Lease
	return Kept{k, a}, nil
}

// Claim returns the right to write the agent's history.
func (h Kept) Claim() agent.Claim { return h.kernel.claim(h.id) }

// Holds reports whether the lease in the agent's row is the one that is kept.
func (h Kept) Holds(a agent.Agent) bool {
	h.kernel.mu.Lock()
	defer h.kernel.mu.Unlock()
	lease, kept := h.kernel.keeps[h.id]
	return kept && a.Lease.Owner == h.kernel.Owner && a.Lease.Epoch == lease.Epoch
}

// Release gives the lease back, unless a kill or another process took it.
func (h Kept) Release(ctx context.Context) {
	k := h.kernel
	k.mu.Lock()
	lease, kept := k.keeps[h.id]
	delete(k.keeps, h.id)
	k.mu.Unlock()
	if !kept {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err := k.Store.Release(ctx, h.id, k.Owner, lease.Epoch); err != nil && !lost(err) {
		k.owes.Store(true)
	}
}
