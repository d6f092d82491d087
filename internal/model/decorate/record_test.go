package decorate

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

type keeper struct {
	calls []RecordedCall
	err   error
	ended error // what the context said
}

func (k *keeper) Record(ctx context.Context, c RecordedCall) error {
	k.calls = append(k.calls, c)
	k.ended = ctx.Err()
	return k.err
}

// around records the events; each look at the clock takes a second.
func around(k *keeper, events ...llm.Event) llm.Provider {
	now := time.Unix(1000, 0)
	return WithRecord(llm.Func(func(context.Context, llm.Request) iter.Seq[llm.Event] { return slices.Values(events) }), RecordOptions{
		Vendor: "acme", Recorder: k,
		Price: func(name string) (llm.Price, bool) { return llm.Price{Input: 1e6, Output: 2e6}, name == "m" },
		Now:   func() time.Time { now = now.Add(time.Second); return now },
	})
}

var (
	recordSent   = llm.Event{Type: llm.Sent, Sent: llm.Bytes{Path: "/p", Body: []byte("body")}}
	recordDelta  = llm.Event{Type: llm.TextDelta, Text: "a"}
	used         = llm.Event{Type: llm.Used, Usage: &llm.Usage{Input: 10, Output: 5}}
	recordFinish = llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: llm.Stop, Raw: "end"}}
	recordAsk    = llm.Request{Model: "m"}
)

func TestEveryCallLeavesOneRecord(t *testing.T) {
	var k keeper
	got := slices.Collect(around(&k, recordSent, llm.Event{Type: llm.Retry}, recordSent, recordDelta, used, recordFinish).Stream(t.Context(), recordAsk))
	if len(got) != 6 || got[5].Type != llm.Finished || len(k.calls) != 1 {
		t.Fatalf("%d events, %d records", len(got), len(k.calls))
	}
	c := k.calls[0]
	want := RecordedCall{Model: llm.Ref{Vendor: "acme", Name: "m"}, Request: recordSent.Sent.Hash(), Size: 4, Attempts: 2,
		Started: time.Unix(1001, 0), First: time.Second, Took: 2 * time.Second, Usage: *used.Usage, Cost: 20_000, Priced: true,
		Finish: recordFinish.Finish, Outcome: "stop"}
	if c != want {
		t.Errorf("recorded\n%+v, want\n%+v", c, want)
	}
}

func TestHowCallsEnd(t *testing.T) {
	broke := fault.New(fault.ProviderOverloaded, "x")
	for outcome, events := range map[string][]llm.Event{
		"PROVIDER_OVERLOADED": {recordSent, llm.Fail(broke)},
		"STREAM_CUT":          {recordSent, recordDelta},
		"stop":                {recordFinish},
	} {
		var k keeper
		got := slices.Collect(around(&k, events...).Stream(t.Context(), recordAsk))
		if len(k.calls) != 1 || k.calls[0].Outcome != outcome || !got[len(got)-1].Terminal() {
			t.Errorf("%s: %+v", outcome, k.calls)
		}
	}
}

func TestACallThatIsBrokenOffIsRecorded(t *testing.T) {
	var k keeper
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range around(&k, recordSent, used, recordDelta, recordFinish).Stream(ctx, llm.Request{Model: "unknown"}) {
		if len(k.calls) == 0 {
			cancel()
			break
		}
	}
	if len(k.calls) != 1 || k.calls[0].Outcome != Abandoned || k.calls[0].Priced || k.ended != nil {
		t.Errorf("%+v, context %v", k.calls, k.ended)
	}
}

func TestWhatIsNotRecordedIsNotDone(t *testing.T) {
	for _, broke := range []error{errors.New("disk"), fault.New(fault.StorageFull, "full")} {
		k := keeper{err: broke}
		got := slices.Collect(around(&k, recordSent, recordDelta, recordFinish).Stream(t.Context(), recordAsk))
		last := got[len(got)-1]
		if last.Type != llm.Failed || fault.CodeOf(last.Err) != fault.CodeOf(broke) {
			t.Errorf("%+v", last)
		}
	}
}
