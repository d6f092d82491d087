package outbox

import (
	"context"
	"net/http"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
)

// local delivers into a store of this process.
type local struct{ store telemetry.Store }

func (l local) close() {} // the store is its owner's

func (l local) send(ctx context.Context, all []*parcel) error {
	var news []telemetry.New
	var whose []*parcel
	for _, p := range all {
		if p.done || p.Method != http.MethodPost {
			continue
		}
		n, err := telemetry.ParseNew(p.Body)
		if err != nil {
			p.settle(err)
			continue
		}
		news, whose = append(news, n), append(whose, p)
	}
	if len(news) > 0 {
		results, err := l.store.Create(ctx, news)
		if err != nil {
			return err
		}
		var left error
		for i, r := range results {
			if fault.Is(r.Err, fault.IDReused) && l.belongsToAnother(ctx, news[i].Record) {
				whose[i].done, whose[i].refusal = true, &refusal{0, anotherRun}
				continue
			}
			if err := whose[i].settle(r.Err); err != nil {
				left = err
			}
		}
		if left != nil {
			return left
		}
	}
	return l.patch(ctx, all)
}

// belongsToAnother reports whether the stored record of this id is another run's: runs of two projects may have one
// name, and so may a run that was removed and begun again. Their traces differ.
func (l local) belongsToAnother(ctx context.Context, r telemetry.Record) bool {
	kept, err := l.store.Get(ctx, r.EventID)
	return err == nil && r.TraceID() != "" && kept.TraceID() != r.TraceID()
}

// patch changes records concurrently, so that the store writes many at once; changes of one record stay in their
// order.
func (l local) patch(ctx context.Context, all []*parcel) error {
	of := map[string][]*parcel{}
	for _, p := range all {
		if !p.done {
			of[p.EventID] = append(of[p.EventID], p)
		}
	}
	var work sync.WaitGroup
	var mu sync.Mutex
	var left error
	for _, parcels := range of {
		work.Go(func() {
			for _, p := range parcels {
				change, err := telemetry.ParsePatch(p.Body)
				if err == nil {
					_, err = l.store.Patch(ctx, p.EventID, change)
				}
				if err := p.settle(err); err != nil {
					mu.Lock()
					left = err
					mu.Unlock()
					return
				}
			}
		})
	}
	work.Wait()
	return left
}

// settle handles the answer of a store: nil, a refusal, or an error to be tried again.
func (p *parcel) settle(err error) error {
	if err == nil {
		p.done = true
		return nil
	}
	switch fault.CodeOf(err) {
	case fault.InvalidField, fault.InvalidID, fault.InvalidText, fault.IDReused, fault.Conflict, fault.NotFound:
		p.refusal = &refusal{0, err.Error()}
	default:
		return err
	}
	p.done = true
	return nil
}
