package logtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"testing"

	"ramet/internal/fault"
	"ramet/internal/run"
)

func empty(t *testing.T, fresh Fresh) {
	w := writer(t, fresh(t))
	if _, ok, err := w.Last(t.Context()); ok || err != nil {
		t.Errorf("last of nothing: %v, %v", ok, err)
	}
	if got := Export(t, w); len(got) > 0 {
		t.Errorf("an empty log holds %q", got)
	}
	if events, err := w.Append(t.Context()); len(events) > 0 || err != nil {
		t.Errorf("append nothing: %v, %v", events, err)
	}
	for _, err := range w.Events(t.Context(), 1) {
		wantFault(t, err, fault.EventChainBroken)
	}
}

func roundTrip(t *testing.T, fresh Fresh) {
	p := fresh(t)
	w := writer(t, p)
	var prev string
	for i := 0; i < 20; i += 2 {
		events, err := w.Append(t.Context(), Draft(i), Draft(i+1))
		if err != nil {
			t.Fatal(err)
		}
		for j, e := range events {
			if want := Draft(i + j).Link(prev); !bytes.Equal(e.Line(), want.Line()) {
				t.Fatalf("got %s, want %s", e.Line(), want.Line())
			}
			prev = e.Hash
		}
	}
	for _, l := range []run.Log{w, must(p.Open())} {
		n := int64(0)
		for e, err := range l.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			if e.Line != n || !bytes.Equal(e.Raw, e.Event.Line()) || e.ID != Draft(int(n-1)).ID {
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

func fromNumber(t *testing.T, fresh Fresh) {
	p := fresh(t)
	w := writer(t, p)
	if _, err := w.Append(t.Context(), Drafts(0, 10)...); err != nil {
		t.Fatal(err)
	}
	r := must(p.Open())
	defer r.Close()
	for _, l := range []run.Log{w, r} {
		for after := int64(0); after <= 10; after++ {
			n := after
			for e, err := range l.Events(t.Context(), after) {
				if err != nil {
					t.Fatal(err)
				}
				n++
				if e.Line != n || e.ID != Draft(int(n-1)).ID {
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

func last(t *testing.T, fresh Fresh) {
	p := fresh(t)
	w := writer(t, p)
	r := must(p.Open())
	defer r.Close()
	for i := range 5 {
		want := must(w.Append(t.Context(), Draft(i)))[0]
		for _, l := range []run.Log{w, r} {
			e, ok, err := l.Last(t.Context())
			if err != nil || !ok || e.Hash != want.Hash || !bytes.Equal(e.Raw, want.Line()) {
				t.Errorf("last of %d: %v %v %+v", i, ok, err, e)
			}
		}
	}
}

func reopen(t *testing.T, fresh Fresh) {
	p := fresh(t)
	for i := range 4 {
		w := writer(t, p)
		if _, err := w.Append(t.Context(), Drafts(3*i, 3*i+3)...); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r := must(p.Open())
	defer r.Close()
	if got := Export(t, r); !bytes.Equal(got, Lines(Drafts(0, 12)...)) {
		t.Errorf("got %s", got)
	}
}

func locked(t *testing.T, fresh Fresh) {
	p := fresh(t)
	w := writer(t, p)
	host, _ := os.Hostname()
	for range 2 {
		_, err := p.OpenWriter()
		wantFault(t, err, fault.Locked, "process "+strconv.Itoa(os.Getpid()), host)
	}
	if _, err := w.Append(t.Context(), Draft(0)); err != nil {
		t.Errorf("the holder was disturbed: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := writer(t, p).Close(); err != nil {
		t.Fatal(err)
	}
}

func cancelled(t *testing.T, fresh Fresh) {
	w := writer(t, fresh(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.Append(ctx, Draft(0))
	wantFault(t, err, fault.Cancelled)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v hides its cause", err)
	}
	if _, ok, err := w.Last(t.Context()); ok || err != nil {
		t.Errorf("something was written: %v", err)
	}
	must(w.Append(t.Context(), Drafts(0, 5)...))
	n := 0
	for _, err := range w.Events(ctx, 0) {
		n++
		wantFault(t, err, fault.Cancelled)
	}
	if n != 1 {
		t.Errorf("%d results of a cancelled reading", n)
	}
}

func refused(t *testing.T, fresh Fresh) {
	p := fresh(t)
	w := writer(t, p)
	must(w.Append(t.Context(), Drafts(0, 3)...))
	foreign, noID, payload, field, tokens := Draft(4), Draft(4), Draft(4), Draft(4), Draft(4)
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
		{[]run.Draft{Draft(1)}, fault.Conflict, Draft(1).ID},
		{[]run.Draft{Draft(4), Draft(4)}, fault.Conflict, Draft(4).ID},
		{[]run.Draft{Draft(4), Draft(1)}, fault.Conflict, Draft(1).ID},
		{[]run.Draft{foreign}, fault.InvalidEvent, "another"},
		{[]run.Draft{Draft(4), foreign}, fault.InvalidEvent, "another"},
		{[]run.Draft{noID}, fault.InvalidEvent, "event_id"},
		{[]run.Draft{payload}, fault.InvalidEvent, "payload"},
		{[]run.Draft{field}, fault.InvalidEvent, "output_hash"},
		{[]run.Draft{Draft(4), tokens}, fault.InvalidEvent, "total_tokens"},
	} {
		_, err := w.Append(t.Context(), c.drafts...)
		wantFault(t, err, c.code, c.word)
	}
	must(w.Append(t.Context(), Drafts(3, 6)...)) // what was refused left nothing behind
	if got := Export(t, w); !bytes.Equal(got, Lines(Drafts(0, 6)...)) {
		t.Errorf("got %s", got)
	}
}

func large(t *testing.T, fresh Fresh) {
	p := fresh(t)
	w := writer(t, p)
	drafts := []run.Draft{Draft(0), Long(1, 1<<20), Draft(2), Long(3, 3<<20), Long(4, 1<<20)}
	must(w.Append(t.Context(), drafts[:2]...))
	must(w.Append(t.Context(), drafts[2:]...))
	w.Close()
	r := must(p.Open())
	defer r.Close()
	if got := Export(t, r); !bytes.Equal(got, Lines(drafts...)) {
		t.Errorf("%d bytes came back differently", len(got))
	}
	if e, _, err := r.Last(t.Context()); err != nil || len(e.Raw) < 1<<20-500 {
		t.Errorf("last: %d bytes, %v", len(e.Raw), err)
	}
	must(writer(t, p).Append(t.Context(), Draft(5)))
}

func unknownTypes(t *testing.T, fresh Fresh) {
	w := writer(t, fresh(t))
	d := Draft(1)
	d.Type, d.Payload = "INVENTED_LATER", []byte(`{"anything":[1,null,{"deep":"\u0001é"}]}`)
	must(w.Append(t.Context(), Draft(0), d))
	for e, err := range w.Events(t.Context(), 1) {
		if err != nil || e.Type != d.Type || !bytes.Equal(e.Payload, d.Payload) {
			t.Errorf("%v %+v", err, e)
		}
	}
}

func forked(t *testing.T, fresh Fresh) {
	p := fresh(t)
	w := writer(t, p)
	parent := Draft(9).Link("")
	d := Draft(0)
	d.Type = run.RunForked
	d.Payload = fmt.Appendf(nil, `{"event_count":10,"event_hash":"%s","event_id":"%s","parent_run_id":"parent"}`, parent.Hash, parent.ID)
	e := must(w.Append(t.Context(), d, Draft(1)))
	if e[0].PrevHash != parent.Hash {
		t.Errorf("prev_hash %q", e[0].PrevHash)
	}
	w.Close()
	must(writer(t, p).Append(t.Context(), Draft(2)))
	r := must(p.Open())
	defer r.Close()
	if n := bytes.Count(Export(t, r), []byte("\n")); n != 3 {
		t.Errorf("%d lines", n)
	}
}

func exported(t *testing.T, fresh Fresh) {
	w := writer(t, fresh(t))
	drafts := append(Drafts(0, 300), Long(300, 5000), Draft(301))
	must(w.Append(t.Context(), drafts...))
	if got := Export(t, w); !bytes.Equal(got, Lines(drafts...)) {
		t.Error("the export differs from the events' lines")
	}
}

func closed(t *testing.T, fresh Fresh) {
	w := writer(t, fresh(t))
	must(w.Append(t.Context(), Draft(0)))
	for range 2 {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Append(t.Context(), Draft(1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
}
