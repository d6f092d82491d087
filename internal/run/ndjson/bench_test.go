package ndjson

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/step"
	"ramet/internal/run"
	_ "ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// scaled is a full size at the scale of this run (RAMET_BENCH_SCALE).
func scaled(n int) int {
	f, err := strconv.ParseFloat(os.Getenv("RAMET_BENCH_SCALE"), 64)
	if err != nil || f <= 0 {
		f = 0.01
	}
	return max(100, int(float64(n)*min(f, 1)))
}

// event is one of the usual kind, with a line of about lineSize bytes.
func event(n int) run.Draft {
	d := runtest.LogDraft(n)
	if n == 0 {
		return d
	}
	h := sha256.Sum256(fmt.Append(nil, n))
	d.Type = run.WorkItemQueued
	d.Payload = fmt.Appendf(nil, `{"attempt":1,"inputs":[{"path":"artifacts/facts-%d.json","sha256":"%x"},{"path":"artifacts/plan.json","sha256":"%x"}],`+
		`"outputs":["drafts/section-%d/index.md","drafts/section-%d/notes.md"],"scope_key":"section-%d","work_item_id":"%s:drafter:1:section-%d","worker":"drafter"}`,
		n, h, h, n, n, n, runtest.LogRunID, n)
	return d
}

// bigLog writes a log of n events and returns its path.
func bigLog(b *testing.B, n int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "events.ndjson")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	prev := ""
	for i := range n {
		e := event(i).Link(prev)
		prev = e.Hash
		w.Write(e.Line())
		w.WriteByte('\n')
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// report gives a figure and its limit.
func report(b *testing.B, got float64, unit string, limit float64) {
	b.ReportMetric(got, unit)
	b.ReportMetric(limit, unit+"-limit")
}

// BenchmarkAppendOneWriter: one writer reaches 0.8 of bare write and fdatasync of
// the same lines, which take turns with it.
func BenchmarkAppendOneWriter(b *testing.B) {
	n := scaled(20000)
	var ours, bare time.Duration
	var ratios []float64
	for range b.N {
		dir := b.TempDir()
		w, err := OpenWriter(b.Context(), filepath.Join(dir, "events.ndjson"))
		if err != nil {
			b.Fatal(err)
		}
		f, err := os.Create(filepath.Join(dir, "bare"))
		if err != nil {
			b.Fatal(err)
		}
		const turn = 50
		for first := 0; first < n; first += turn {
			drafts := make([]run.Draft, turn)
			for i := range drafts {
				drafts[i] = event(first + i)
			}
			var written [turn]run.Event
			start := time.Now()
			for i, d := range drafts {
				events, err := w.Append(b.Context(), d)
				if err != nil {
					b.Fatal(err)
				}
				written[i] = events[0]
			}
			one := time.Since(start)
			var lines [turn][]byte
			for i, e := range written {
				lines[i] = append(e.Line(), '\n')
			}
			start = time.Now()
			for _, line := range lines {
				if _, err := f.Write(line); err != nil {
					b.Fatal(err)
				}
				if err := datasync(step.Of(f)); err != nil {
					b.Fatal(err)
				}
			}
			two := time.Since(start)
			ours, bare = ours+one, bare+two
			ratios = append(ratios, two.Seconds()/one.Seconds())
		}
		w.Close()
		f.Close()
	}
	slices.Sort(ratios)
	report(b, ratios[len(ratios)/2], "of-bare-rate", 0.8)
	b.ReportMetric(float64(n*b.N)/ours.Seconds(), "events/s")
	b.ReportMetric(float64(n*b.N)/bare.Seconds(), "bare/s")
}

// BenchmarkAppendShared: 64 callers at once reach 50,000 events a second.
func BenchmarkAppendShared(b *testing.B) {
	const callers = 64
	n := scaled(1000000) / callers
	drafts := make([][]run.Draft, callers)
	for c := range drafts {
		for i := range n {
			drafts[c] = append(drafts[c], event(1+c*n+i))
		}
	}
	var took time.Duration
	for range b.N {
		w, err := OpenWriter(b.Context(), filepath.Join(b.TempDir(), "events.ndjson"))
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		var wg sync.WaitGroup
		for _, mine := range drafts {
			wg.Go(func() {
				for _, d := range mine {
					if _, err := w.Append(b.Context(), d); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		took += time.Since(start)
		w.Close()
	}
	report(b, float64(callers*n*b.N)/took.Seconds(), "events/s", 50000)
}

// BenchmarkReplay: reading with verification, on one core and on two, against
// parsing and hashing alone.
func BenchmarkReplay(b *testing.B) {
	n := scaled(1000000)
	path := bigLog(b, n)
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(data))/float64(n), "bytes/line")
	rate := func(cores int, pass func()) float64 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		runtime.GC()
		start := time.Now()
		pass()
		return float64(n) / time.Since(start).Seconds()
	}
	var one, two, alone []float64
	for range max(b.N, 3) {
		alone = append(alone, rate(1, func() { parseAndHash(b, data) }))
		one = append(one, rate(1, func() { replay(b, path, n) }))
		two = append(two, rate(2, func() { replay(b, path, n) }))
	}
	for _, list := range [][]float64{one, two, alone} {
		slices.Sort(list)
	}
	mid := len(one) / 2
	report(b, one[mid], "events/s", 130000)
	report(b, one[mid]/alone[mid], "of-parsing-alone", 0.7)
	report(b, two[mid]/one[mid], "times-on-two-cores", 1.6)
	b.ReportMetric(alone[mid], "alone/s")
}

func replay(b *testing.B, path string, want int) {
	l, err := Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	n := 0
	for _, err := range l.Events(context.Background(), 0) {
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	if n != want {
		b.Fatalf("%d events", n)
	}
}

// parseAndHash is the least that any reader in Go would do.
func parseAndHash(b *testing.B, data []byte) {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		data = rest
		var e struct {
			EventHash  string         `json:"event_hash"`
			EventID    string         `json:"event_id"`
			ParentSpan string         `json:"parent_span_id"`
			Payload    jsontext.Value `json:"payload"`
			PrevHash   string         `json:"prev_hash"`
			RunID      string         `json:"run_id"`
			SpanID     string         `json:"span_id"`
			TraceID    string         `json:"trace_id"`
			TS         string         `json:"ts"`
			Type       string         `json:"type"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			b.Fatal(err)
		}
		h := sha256.New()
		for _, part := range []string{e.EventID, e.TS, e.Type, string(e.Payload), e.PrevHash} {
			h.Write([]byte(part))
		}
		if hex.EncodeToString(h.Sum(nil)) != e.EventHash {
			b.Fatal("hash")
		}
	}
}
