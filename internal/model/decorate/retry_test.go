package decorate

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// takes answers each call with the next list of events.
func takes(lists ...[]llm.Event) (llm.Provider, *int) {
	n := new(int)
	return llm.Func(func(context.Context, llm.Request) iter.Seq[llm.Event] {
		list := lists[min(*n, len(lists)-1)]
		*n++
		return slices.Values(list)
	}), n
}

func failed(code fault.Code, again bool, after time.Duration) llm.Event {
	return llm.Fail(fault.New(code, "x: %w", &llm.Failure{Says: "no", Again: again, After: after}))
}

var (
	retrySent   = llm.Event{Type: llm.Sent}
	retryDelta  = llm.Event{Type: llm.TextDelta, Text: "a"}
	retryFinish = llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: llm.Stop, Raw: "stop"}}
	busy        = failed(fault.ProviderOverloaded, true, 0)
)

func run(t *testing.T, p llm.Provider, o RetryOptions) (events []llm.Event, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		events = slices.Collect(WithRetry(p, o).Stream(t.Context(), llm.Request{}))
		took = time.Since(began)
	})
	return events, took
}

func half() float64 { return 0.5 }

func TestItWaitsLongerEachTimeAndSaysSo(t *testing.T) {
	p, n := takes([]llm.Event{retrySent, busy}, []llm.Event{retrySent, busy}, []llm.Event{retrySent, busy}, []llm.Event{retrySent, retryDelta, retryFinish})
	events, took := run(t, p, RetryOptions{Random: half})
	var waits []time.Duration
	for _, e := range events {
		if e.Type == llm.Retry {
			waits = append(waits, e.Retry.Wait)
			if e.Retry.Number != len(waits) || e.Retry.Of != 5 || !fault.Is(e.Retry.Err, fault.ProviderOverloaded) {
				t.Errorf("%+v", e.Retry)
			}
		}
	}
	ms := time.Millisecond
	if !slices.Equal(waits, []time.Duration{375 * ms, 750 * ms, 1500 * ms}) || took != 2625*ms || *n != 4 {
		t.Errorf("waited %v, %v in all, %d calls", waits, took, *n)
	}
	if events[len(events)-1].Type != llm.Finished {
		t.Errorf("ended with %+v", events[len(events)-1])
	}
}

func TestJitterStaysBetweenHalfAndWhole(t *testing.T) {
	for _, c := range []struct {
		random float64
		want   time.Duration
	}{{0, 250 * time.Millisecond}, {0.999999999, 500 * time.Millisecond}} {
		p, _ := takes([]llm.Event{busy}, []llm.Event{retryFinish})
		if _, took := run(t, p, RetryOptions{Random: func() float64 { return c.random }}); (took - c.want).Abs() > time.Millisecond {
			t.Errorf("%v: %v", c.random, took)
		}
	}
}

func TestTheServersWordCounts(t *testing.T) {
	p, n := takes([]llm.Event{failed(fault.ProviderRateLimit, true, 7*time.Second)}, []llm.Event{retryFinish})
	if _, took := run(t, p, RetryOptions{Random: half}); took != 7*time.Second || *n != 2 {
		t.Errorf("waited %v, %d calls", took, *n)
	}
	p, n = takes([]llm.Event{failed(fault.ProviderRateLimit, true, time.Hour)}, []llm.Event{retryFinish})
	if events, took := run(t, p, RetryOptions{}); took != 0 || *n != 1 || events[0].Type != llm.Failed {
		t.Errorf("an hour: waited %v, %d calls", took, *n)
	}
}

func TestItIsBounded(t *testing.T) {
	p, n := takes([]llm.Event{retrySent, busy})
	events, took := run(t, p, RetryOptions{Attempts: 12, Random: half})
	if *n != 12 || events[len(events)-1].Type != llm.Failed || took > 12*30*time.Second {
		t.Errorf("%d calls in %v, last %+v", *n, took, events[len(events)-1])
	}
}

func TestWhatIsNotRepeated(t *testing.T) {
	for name, c := range map[string][]llm.Event{
		"a wrong key":            {retrySent, failed(fault.ProviderAuth, false, 0)},
		"a failure without word": {retrySent, llm.Fail(errors.New("boom"))},
		"cancelled":              {retrySent, llm.Fail(fault.New(fault.Cancelled, "x"))},
		"after text":             {retrySent, retryDelta, busy},
		"after thinking":         {retrySent, {Type: llm.ThinkingDelta, Text: "a"}, busy},
		"after a call began":     {retrySent, {Type: llm.ToolStart}, busy},
		"an answer":              {retrySent, retryDelta, retryFinish},
		"cut after text":         {retrySent, retryDelta},
	} {
		p, n := takes(c, []llm.Event{retryFinish})
		events, _ := run(t, p, RetryOptions{})
		last := events[len(events)-1]
		if *n != 1 || !last.Terminal() {
			t.Errorf("%s: %d calls, last %+v", name, *n, last)
		}
		if name == "cut after text" && !fault.Is(last.Err, fault.StreamCut) {
			t.Errorf("%s: %v", name, last.Err)
		}
	}
	p, n := takes([]llm.Event{retrySent}, []llm.Event{retryFinish}) // cut before anything was shown
	if run(t, p, RetryOptions{}); *n != 2 {
		t.Errorf("cut before text: %d calls", *n)
	}
}

func TestItStopsWaitingAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		p, _ := takes([]llm.Event{failed(fault.ProviderRateLimit, true, time.Minute)})
		began := time.Now()
		events := slices.Collect(WithRetry(p, RetryOptions{}).Stream(ctx, llm.Request{}))
		if last := events[len(events)-1]; !fault.Is(last.Err, fault.TimedOut) || time.Since(began) != 100*time.Millisecond {
			t.Errorf("%v after %v", last.Err, time.Since(began))
		}
	})
	p, n := takes([]llm.Event{retrySent, busy})
	for e := range WithRetry(p, RetryOptions{}).Stream(t.Context(), llm.Request{}) {
		if e.Type == llm.Retry {
			break
		}
	}
	if *n != 1 {
		t.Error("it went on without a consumer")
	}
}

// Who is patient waits for a rate limit as long as it takes, and for a network that was there before;
// for one that never was no longer than others.
func TestPatience(t *testing.T) {
	fails := func(times int, status int) (llm.Provider, *int) {
		n := 0
		return llm.Func(func(context.Context, llm.Request) iter.Seq[llm.Event] {
			return func(yield func(llm.Event) bool) {
				if n++; n == 1 && status == 0 || n > times {
					yield(llm.Event{Type: llm.TextDelta, Text: "hi"})
					yield(llm.Event{Type: llm.Finished})
					return
				}
				yield(llm.Fail(fault.New(fault.ProviderOverloaded, "%w", &llm.Failure{Status: status, Again: true})))
			}
		}), &n
	}
	quick := RetryOptions{Attempts: 3, First: 1, Most: 1}
	ask := func(ctx context.Context, p llm.Provider) (last llm.Event, of int) {
		for last = range p.Stream(ctx, llm.Request{}) {
			if last.Type == llm.Retry {
				of = last.Retry.Of
			}
		}
		return last, of
	}
	for _, status := range []int{429, 503, 529} {
		next, n := fails(20, status)
		if last, of := ask(Patiently(t.Context()), WithRetry(next, quick)); last.Type != llm.Finished || *n != 21 || of != 0 {
			t.Errorf("%d: %+v after %d, of %d", status, last, *n, of)
		}
		next, n = fails(20, status)
		if last, of := ask(t.Context(), WithRetry(next, quick)); last.Type != llm.Failed || *n != 3 || of != 3 {
			t.Errorf("%d, not patient: %+v after %d, of %d", status, last, *n, of)
		}
	}
	next, n := fails(20, 500)
	if last, _ := ask(Patiently(t.Context()), WithRetry(next, quick)); last.Type != llm.Failed || *n != 3 {
		t.Errorf("500: %+v after %d", last, *n)
	}
	next, n = fails(20, 0)
	p := WithRetry(next, quick)
	ask(t.Context(), p) // it is reached
	if last, _ := ask(Patiently(t.Context()), p); last.Type != llm.Finished || *n != 21 {
		t.Errorf("a lost network: %+v after %d", last, *n)
	}
	*n = 1 // another one, never reached
	if last, _ := ask(Patiently(t.Context()), WithRetry(next, quick)); last.Type != llm.Failed || *n != 4 {
		t.Errorf("nobody there: %+v after %d", last, *n)
	}
}

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
