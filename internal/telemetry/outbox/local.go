package outbox

import (
	"context"
	"net/http"

	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
)

// local delivers into a store of this process.
type local struct{ store telemetry.Store }

func (l local) send(ctx context.Context, method string, all []*parcel) error {
	var news []telemetry.New
	var changes []telemetry.Change
	var whose []*parcel
	for _, p := range all {
		if p.done || p.Method != method {
			continue
		}
		n, patch, err := telemetry.New{}, telemetry.Patch{}, error(nil)
		if method == http.MethodPost {
			n, err = telemetry.ParseNew(p.Body)
		} else {
			patch, err = telemetry.ParsePatch(p.Body)
		}
		if err != nil {
			p.settle(err)
			continue
		}
		news, changes, whose = append(news, n), append(changes, telemetry.Change{EventID: p.EventID, Patch: patch}), append(whose, p)
	}
	if len(whose) == 0 {
		return nil
	}
	results, err := []telemetry.Result(nil), error(nil)
	if method == http.MethodPost {
		results, err = l.store.Create(ctx, news)
	} else {
		results, err = l.store.PatchAll(ctx, changes)
	}
	if err != nil {
		return err
	}
	for i, r := range results {
		if method == http.MethodPost && fault.Is(r.Err, fault.IDReused) && l.belongsToAnother(ctx, news[i].Record) {
			whose[i].done, whose[i].refusal = true, &refusal{0, anotherRun}
		} else {
			whose[i].settle(r.Err)
		}
	}
	return nil
}

// belongsToAnother reports whether the stored record of this id is another run's: runs of two projects may have one
// name, and so may a run that was removed and begun again. Their traces differ.
func (l local) belongsToAnother(ctx context.Context, r telemetry.Record) bool {
	kept, err := l.store.Get(ctx, r.EventID)
	return err == nil && r.TraceID() != "" && kept.TraceID() != r.TraceID()
}

// settle handles the answer of a store about one parcel: nil, or why it is refused.
func (p *parcel) settle(err error) {
	if p.done = true; err != nil {
		p.refusal = &refusal{0, err.Error()}
	}
}
