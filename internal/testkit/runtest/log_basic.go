package runtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit"
)

func empty(t *testing.T, fresh FreshLog) {
	w := writer(t, fresh(t))
	if _, ok, err := w.Last(t.Context()); ok || err != nil {
		t.Errorf("last of nothing: %v, %v", ok, err)
	}
	if got := ExportLog(t, w); len(got) > 0 {
		t.Errorf("an empty log holds %q", got)
	}
	if events, err := w.Append(t.Context()); len(events) > 0 || err != nil {
		t.Errorf("append nothing: %v, %v", events, err)
	}
	for _, err := range w.Events(t.Context(), 1) {
		wantFault(t, err, fault.EventChainBroken)
	}
}

func roundTrip(t *testing.T, fresh FreshLog) {
	p := fresh(t)
	w := writer(t, p)
	var prev string
	for i := 0; i < 20; i += 2 {
		events := testkit.Must(w.Append(t.Context(), LogDraft(i), LogDraft(i+1)))(t)
		for j, e := range events {
			if want := LogDraft(i + j).Link(prev); !bytes.Equal(e.Line(), want.Line()) {
				t.Fatalf("got %s, want %s", e.Line(), want.Line())
			}
			prev = e.Hash
		}
	}
	for _, l := range []run.Log{w, testkit.Must(p.Open())(t)} {
		n := int64(0)
		for e, err := range l.Events(t.Context(), 0) {
			testkit.OK(t, err)
			n++
			if e.Line != n || !bytes.Equal(e.Raw, e.Event.Line()) || e.ID != LogDraft(int(n-1)).ID {
				t.Errorf("event %d: %+v", n, e)
			}
		}
		if n != 20 {
			t.Errorf("%d events", n)
		}
		if l != w {
			l.Close()
		}
	}
}

func fromNumber(t *testing.T, fresh FreshLog) {
	p := fresh(t)
	w := writer(t, p)
	testkit.Must(w.Append(t.Context(), LogDrafts(0, 10)...))(t)
	r := testkit.Must(p.Open())(t)
	defer r.Close()
	for _, l := range []run.Log{w, r} {
		for after := int64(0); after <= 10; after++ {
			n := after
			for e, err := range l.Events(t.Context(), after) {
				testkit.OK(t, err)
				n++
				if e.Line != n || e.ID != LogDraft(int(n-1)).ID {
					t.Errorf("after %d: line %d, event %s", after, e.Line, e.ID)
				}
			}
			if n != 10 {
				t.Errorf("after %d: ended with %d", after, n)
			}
		}
		for _, err := range l.Events(t.Context(), 11) {
			wantFault(t, err, fault.EventChainBroken, "11")
		}
		for e, err := range l.Events(t.Context(), 0) { // breaking off is no error
			if err != nil || e.Line != 1 {
				t.Error(e.Line, err)
			}
			break
		}
	}
}

func last(t *testing.T, fresh FreshLog) {
	p := fresh(t)
	w := writer(t, p)
	r := testkit.Must(p.Open())(t)
	defer r.Close()
	for i := range 5 {
		want := testkit.Must(w.Append(t.Context(), LogDraft(i)))(t)[0]
		for _, l := range []run.Log{w, r} {
			e, ok, err := l.Last(t.Context())
			if err != nil || !ok || e.Hash != want.Hash || !bytes.Equal(e.Raw, want.Line()) {
				t.Errorf("last of %d: %v %v %+v", i, ok, err, e)
			}
		}
	}
}

func reopen(t *testing.T, fresh FreshLog) {
	p := fresh(t)
	for i := range 4 {
		w := writer(t, p)
		testkit.Must(w.Append(t.Context(), LogDrafts(3*i, 3*i+3)...))(t)
		testkit.OK(t, w.Close())
	}
	r := testkit.Must(p.Open())(t)
	defer r.Close()
	if got := ExportLog(t, r); !bytes.Equal(got, LogLines(LogDrafts(0, 12)...)) {
		t.Errorf("got %s", got)
	}
}

func locked(t *testing.T, fresh FreshLog) {
	p := fresh(t)
	w := writer(t, p)
	host, _ := os.Hostname()
	for range 2 {
		_, err := p.OpenWriter()
		wantFault(t, err, fault.Locked, "process "+strconv.Itoa(os.Getpid()), host)
	}
	if _, err := w.Append(t.Context(), LogDraft(0)); err != nil {
		t.Errorf("the holder was disturbed: %v", err)
	}
	testkit.OK(t, w.Close())
	testkit.OK(t, writer(t, p).Close())
}

func cancelledLogtest(t *testing.T, fresh FreshLog) {
	w := writer(t, fresh(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.Append(ctx, LogDraft(0))
	wantFault(t, err, fault.Cancelled)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v hides its cause", err)
	}
	if _, ok, err := w.Last(t.Context()); ok || err != nil {
		t.Errorf("something was written: %v", err)
	}
	testkit.Must(w.Append(t.Context(), LogDrafts(0, 5)...))(t)
	n := 0
	for _, err := range w.Events(ctx, 0) {
		n++
		wantFault(t, err, fault.Cancelled)
	}
	if n != 1 {
		t.Errorf("%d results of a cancelled reading", n)
	}
}

func refused(t *testing.T, fresh FreshLog) {
	p := fresh(t)
	w := writer(t, p)
	testkit.Must(w.Append(t.Context(), LogDrafts(0, 3)...))(t)
	foreign, noID, payload, field, tokens := LogDraft(4), LogDraft(4), LogDraft(4), LogDraft(4), LogDraft(4)
	foreign.RunID = "another"
	noID.ID = "4"
	payload.Payload = []byte(`{"b":1, "a":2}`)
	field.Payload = []byte(`{"cache_key":"k","call_id":"c"}`)
	tokens.Type = run.LLMCallFinished
	tokens.Payload = []byte(`{"call_id":"c","finish_reason":"stop","latency_ms":1,"output_hash":"h","token_usage":{"input_tokens":1,"output_tokens":1,"total_tokens":3}}`)
	for _, c := range []struct {
		drafts []run.Draft
		code   fault.Code
		word   string
	}{
		{[]run.Draft{LogDraft(1)}, fault.Conflict, LogDraft(1).ID},
		{[]run.Draft{LogDraft(4), LogDraft(4)}, fault.Conflict, LogDraft(4).ID},
		{[]run.Draft{LogDraft(4), LogDraft(1)}, fault.Conflict, LogDraft(1).ID},
		{[]run.Draft{foreign}, fault.InvalidEvent, "another"},
		{[]run.Draft{LogDraft(4), foreign}, fault.InvalidEvent, "another"},
		{[]run.Draft{noID}, fault.InvalidEvent, "event_id"},
		{[]run.Draft{payload}, fault.InvalidEvent, "payload"},
		{[]run.Draft{field}, fault.InvalidEvent, "output_hash"},
		{[]run.Draft{LogDraft(4), tokens}, fault.InvalidEvent, "total_tokens"},
	} {
		_, err := w.Append(t.Context(), c.drafts...)
		wantFault(t, err, c.code, c.word)
	}
	testkit.Must(w.Append(t.Context(), LogDrafts(3, 6)...))(t) // what was refused left nothing behind
	if got := ExportLog(t, w); !bytes.Equal(got, LogLines(LogDrafts(0, 6)...)) {
		t.Errorf("got %s", got)
	}
}

func large(t *testing.T, fresh FreshLog) {
	p := fresh(t)
	w := writer(t, p)
	drafts := []run.Draft{LogDraft(0), LongLog(1, 1<<20), LogDraft(2), LongLog(3, 3<<20), LongLog(4, 1<<20)}
	testkit.Must(w.Append(t.Context(), drafts[:2]...))(t)
	testkit.Must(w.Append(t.Context(), drafts[2:]...))(t)
	w.Close()
	r := testkit.Must(p.Open())(t)
	defer r.Close()
	if got := ExportLog(t, r); !bytes.Equal(got, LogLines(drafts...)) {
		t.Errorf("%d bytes came back differently", len(got))
	}
	if e, _, err := r.Last(t.Context()); err != nil || len(e.Raw) < 1<<20-500 {
		t.Errorf("last: %d bytes, %v", len(e.Raw), err)
	}
	testkit.Must(writer(t, p).Append(t.Context(), LogDraft(5)))(t)
}

func unknownTypes(t *testing.T, fresh FreshLog) {
	w := writer(t, fresh(t))
	d := LogDraft(1)
	d.Type, d.Payload = "INVENTED_LATER", []byte(`{"anything":[1,null,{"deep":"\u0001é"}]}`)
	testkit.Must(w.Append(t.Context(), LogDraft(0), d))(t)
	for e, err := range w.Events(t.Context(), 1) {
		if err != nil || e.Type != d.Type || !bytes.Equal(e.Payload, d.Payload) {
			t.Errorf("%v %+v", err, e)
		}
	}
}

func forked(t *testing.T, fresh FreshLog) {
	p := fresh(t)
	w := writer(t, p)
	parent := LogDraft(9).Link("")
	d := LogDraft(0)
	d.Type = run.RunForked
	d.Payload = fmt.Appendf(nil, `{"event_count":10,"event_hash":"%s","event_id":"%s","parent_run_id":"parent"}`, parent.Hash, parent.ID)
	e := testkit.Must(w.Append(t.Context(), d, LogDraft(1)))(t)
	if e[0].PrevHash != parent.Hash {
		t.Errorf("prev_hash %q", e[0].PrevHash)
	}
	w.Close()
	testkit.Must(writer(t, p).Append(t.Context(), LogDraft(2)))(t)
	r := testkit.Must(p.Open())(t)
	defer r.Close()
	if n := bytes.Count(ExportLog(t, r), []byte("\n")); n != 3 {
		t.Errorf("%d lines", n)
	}
}

func exported(t *testing.T, fresh FreshLog) {
	w := writer(t, fresh(t))
	drafts := append(LogDrafts(0, 300), LongLog(300, 5000), LogDraft(301))
	testkit.Must(w.Append(t.Context(), drafts...))(t)
	if got := ExportLog(t, w); !bytes.Equal(got, LogLines(drafts...)) {
		t.Error("the export differs from the events' lines")
	}
}

func closedLogtest(t *testing.T, fresh FreshLog) {
	w := writer(t, fresh(t))
	testkit.Must(w.Append(t.Context(), LogDraft(0)))(t)
	for range 2 {
		testkit.OK(t, w.Close())
	}
	if _, err := w.Append(t.Context(), LogDraft(1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
}
