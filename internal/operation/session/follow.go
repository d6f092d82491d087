package session

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/core/agent"
	"ramet/internal/store/database"
)

// followEvery is the interval at which the store is asked for changes that no kernel of
// this machine reported: a face must not be late by more than 200 ms.
const followEvery = 150 * time.Millisecond

// followAnyway is the interval where the system reports changes: leases run out
// without one, and not all that other kernels of this machine do is written.
const followAnyway = time.Second

// Follow publishes an event without a state whenever other processes may have changed what agents do, until ctx ends:
// its readers look at the states.
func (w Turns) Follow(ctx context.Context) {
	every, stirred := followEvery, w.stirred(ctx)
	if stirred != nil {
		every = followAnyway
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for before := ""; ; {
		now, err := w.fingerprint(ctx)
		if err == nil && before != "" && now != before || len(w.ws.Peers.Kernels()) > 1 {
			w.ws.changed()
		}
		if err == nil {
			before = now
		}
		select {
		case <-tick.C:
		case <-stirred:
			select { // one look for all that is written now
			case <-time.After(followEvery):
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// stirred receives a value when the files of the database change; nil: the system cannot report that.
func (w Turns) stirred(ctx context.Context) <-chan struct{} {
	if w.ws.Place.DB == "" || database.IsPostgres(w.ws.Place.DB) {
		return nil
	}
	told, _ := durable.WatchFolder(ctx, filepath.Dir(w.ws.Place.DB))
	return told
}

// fingerprint differs when something was written, or a lease changed hands or lost its
// holder.
func (w Turns) fingerprint(ctx context.Context) (string, error) {
	latest, err := w.ws.Store.Latest(ctx)
	if err != nil {
		return "", err
	}
	leased, now, err := w.ws.Store.Leased(ctx)
	if err != nil {
		return "", err
	}
	out := append([]byte(nil), latest...)
	left := agent.OwnersGone(now, w.ws.Peers.Gone)
	for _, a := range leased {
		out = fmt.Appendf(out, " %s %s %d %t", a.ID, a.Lease.Owner, a.Lease.Epoch, left(a.Lease))
	}
	return string(out), nil
}
