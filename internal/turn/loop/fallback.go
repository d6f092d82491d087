package loop

import (
	"context"
	"fmt"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/model/decorate"
)

// isVendorDown reports whether a vendor cannot answer now, whatever it is asked: it was not
// reached, failed on its side, or takes no more requests.
func isVendorDown(err error) bool {
	for _, code := range []fault.Code{fault.ProviderUnreachable, fault.ProviderOverloaded, fault.ProviderRateLimit, fault.StreamCut} {
		if fault.Is(err, code) {
			return true
		}
	}
	return false
}

// fallBack lets the next model go on until the turn ends; the history says so, and
// has the call that failed.
func (r *turn) fallBack(ctx context.Context, failed decorate.RecordedCall, why error) error {
	next := r.Others[0]
	told := fmt.Sprintf("%s does not answer (%s); %s goes on in its place until the turn ends", r.Ref, fault.CodeOf(why), next.Ref)
	spent := draftUsage(failed)
	spent.Meta.Reason = r.kept(reasonLine(why))
	note := history.Draft{Kind: history.Note, Meta: history.Meta{Reason: spent.Meta.Reason}, Parts: []history.Part{{Type: history.Text, Text: told}}}
	if err := r.write(ctx, spent, note); err != nil {
		return err
	}
	r.spent(failed)
	r.emit(Event{Type: Note, Text: told})
	r.Ref, r.Model, r.Provider, r.Learnt, r.Others = next.Ref, next.Model, next.Provider, next.Learnt, r.Others[1:]
	r.sent, r.narrow, r.brief, r.meter = 0, 0, 0, meter{}
	return nil
}
