package control

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
)

// What an agent does, as anybody can tell from its lease.
const (
	Working     = "working"     // a kernel holds it
	Interrupted = "interrupted" // that kernel ended in the middle of a turn
)

// Busy says what agents do that a kernel holds, or held when it ended.
func (p Folder) Busy(ctx context.Context, l agent.Leases) (map[id.Agent]string, error) {
	leased, now, err := l.Leased(ctx)
	if err != nil || len(leased) == 0 {
		return nil, err
	}
	out := make(map[id.Agent]string, len(leased))
	left := agent.OwnersGone(now, p.Gone)
	for _, a := range leased {
		out[a.ID] = Working
		if left(a.Lease) {
			out[a.ID] = Interrupted
		}
	}
	return out, nil
}

// Held is who holds which agents now.
func Held(ctx context.Context, l agent.Leases) (map[id.Agent]string, error) {
	leased, now, err := l.Leased(ctx)
	if err != nil {
		return nil, err
	}
	out := map[id.Agent]string{}
	for _, a := range leased {
		if a.Lease.Live(now) {
			out[a.ID] = a.Lease.Owner
		}
	}
	return out, nil
}
