package outbox

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/telemetry"
	"ramet/internal/telemetry/store"
	_ "ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// keeping is a service over a real store, which can be down.
func keeping(t *testing.T, kept *store.Store, down *atomic.Bool) *httptest.Server {
	answer := func(w http.ResponseWriter, err error) {
		switch {
		case err == nil:
		case fault.Is(err, fault.NotFound):
			w.WriteHeader(404)
		case fault.Is(err, fault.IDReused), fault.Is(err, fault.Conflict):
			w.WriteHeader(409)
		default:
			w.WriteHeader(422)
		}
		fmt.Fprint(w, err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id, changes := strings.CutPrefix(r.URL.Path, "/api/v1/runs/")
		switch {
		case down.Load():
			w.WriteHeader(503)
		case changes:
			p, err := telemetry.ParsePatch(body)
			if err == nil {
				_, err = kept.Patch(r.Context(), id, p)
			}
			answer(w, err)
		default:
			n, err := telemetry.ParseNew(body)
			if err == nil {
				var results []telemetry.Result
				if results, err = kept.Create(r.Context(), []telemetry.New{n}); err == nil {
					err = results[0].Err
				}
			}
			answer(w, err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// The process dies again and again, the machine loses the end of the outbox, the service
// is down half of the time: in the end each call of the log has exactly one record.
func TestEachCallHasOneRecordAfterCrashesAndWithAServiceThatIsDown(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 8))
			dir := t.TempDir()
			kept, err := store.OpenFile(t.Context(), filepath.Join(dir, "telemetry.sqlite"))
			if err != nil {
				t.Fatal(err)
			}
			defer kept.Close()
			var down atomic.Bool
			s := keeping(t, kept, &down)
			o := Options{URL: s.URL, Pauses: []time.Duration{}, Later: time.Millisecond}
			path := filepath.Join(dir, "outbox0.jsonl")
			b := open(t, path, o)
			var f telemetry.Follow
			var log []run.Event
			crashes, calls := 0, map[string]int{}
			r := run.NewReducer(run.New(runtest.RunID))
			for n := 0; len(log) < 150 && n < 3000; n++ {
				d := runtest.Step(dice, r.Snapshot(), n)
				if text := string(d.Payload); d.Type == run.RunForked || strings.Contains(text, `"new_state":"DONE"`) || strings.Contains(text, `"new_state":"CANCELLED"`) {
					continue // it goes on
				}
				if dice.IntN(4) == 0 {
					d.Type = []run.Type{run.LLMCallStarted, run.LLMCallFinished, run.LLMCallFailed, run.LLMCacheHit}[dice.IntN(4)]
					d.Payload = []byte(runtest.Examples()[d.Type])
				}
				e := d.Link(r.Hash())
				if r.Apply(e) != nil {
					continue
				}
				event := run.Event{RunID: e.RunID, Type: e.Type, TS: e.TS, Payload: e.Payload, TraceID: e.TraceID, SpanID: e.SpanID}
				log = append(log, event) // it is durable
				if strings.HasPrefix(string(event.Type), "LLM_") {
					calls[event.TraceID+event.SpanID] = 0
				}
				if dice.IntN(15) == 0 {
					down.Store(!down.Load())
				}
				if dice.IntN(12) > 0 {
					b.PutMarked(event.RunID, int64(len(log)), f.Next(event)...)
					continue
				}
				// Before the outbox hears of it, the process dies.
				crashes++
				text, err := os.ReadFile(path)
				if err != nil || b.Close() != nil {
					t.Fatal(err)
				}
				path = filepath.Join(dir, fmt.Sprintf("outbox%d.jsonl", crashes))
				if err := os.WriteFile(path, text[:len(text)-dice.IntN(min(len(text), 4000)+1)], 0o600); err != nil {
					t.Fatal(err)
				}
				b = open(t, path, o)
				f = telemetry.Follow{}
				for i, old := range log {
					if d := f.Next(old); int64(i) >= b.Marked(event.RunID) {
						b.PutMarked(event.RunID, int64(i+1), d...)
					}
				}
			}
			down.Store(false)
			flush(t, b)
			if b.Dead() != 0 || b.Unsent() != 0 || crashes < 5 || len(calls) < 20 {
				t.Errorf("%d dead, %d unsent, %d crashes, %d calls", b.Dead(), b.Unsent(), crashes, len(calls))
			}
			records, _, err := kept.List(t.Context(), telemetry.Filter{JobType: telemetry.LLMCall, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range records {
				var c struct {
					Trace string `json:"trace_id"`
					Span  string `json:"span_id"`
				}
				if err := json.Unmarshal(one.Context, &c); err != nil {
					t.Fatal(err)
				}
				calls[c.Trace+c.Span]++
			}
			for key, n := range calls {
				if n != 1 {
					t.Errorf("call %s has %d records", key, n)
				}
			}
		})
	}
}
