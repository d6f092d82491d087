package httpapi

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/telemetry"
)

// writers are how many clients post at once.
const writers = 64

// BenchmarkPosts is the promise of POST /api/v1/runs: in batches at least 5,000 durable
// records a second, and singly at least half of what the store does without HTTP, from as
// many callers at once, in the same run.
func BenchmarkPosts(b *testing.B) {
	s := start(b)
	var unit atomic.Int64
	next := func() map[string]any {
		return record(strconv.FormatInt(unit.Add(1), 36), "job_type", "llm_call",
			"metrics_json", map[string]any{"input_tokens": 1200, "output_tokens": 300, "api_cost_usd": 0.0123},
			"context_json", map[string]any{"trace_id": "0123456789abcdef0123456789abcdef", "model": "vendor/model"})
	}
	var bare, single, batches pace
	for b.Loop() {
		bare.run(func(*wire) int {
			text := s.body(b, next())
			n, err := telemetry.ParseNew(text)
			if err != nil {
				b.Error(err)
			}
			if results, err := s.store.Create(b.Context(), []telemetry.New{n}); err != nil || results[0].Err != nil {
				b.Error(err, results)
			}
			return 1
		})
		single.run(func(w *wire) int {
			w.post(b, s, "/api/v1/runs", s.body(b, next()), "201")
			return 1
		})
		batches.run(func(w *wire) int {
			var runs []any
			for range 200 {
				runs = append(runs, next())
			}
			w.post(b, s, "/api/v1/runs/batch", s.body(b, map[string]any{"runs": runs}), "200")
			return 200
		})
	}
	b.ReportMetric(batches.rate(), "records/s-in-batches")
	b.ReportMetric(single.rate(), "records/s-singly")
	b.ReportMetric(bare.rate(), "records/s-bare")
	b.ReportMetric(single.rate()/bare.rate(), "singly/bare")
	b.ReportMetric(0, "ns/op")
}

// pace counts records over slices of time. The three take turns in short slices, so that
// what else the machine does meets all of them.
type pace struct {
	made int64
	took time.Duration
}

func (p *pace) rate() float64 { return float64(p.made) / p.took.Seconds() }

// run does something from many clients for a while.
func (p *pace) run(do func(*wire) int) {
	var made atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range writers {
		all.Go(func() {
			var w wire
			defer w.close()
			for time.Since(began) < 250*time.Millisecond {
				made.Add(int64(do(&w)))
			}
		})
	}
	all.Wait()
	p.made += made.Load()
	p.took += time.Since(began)
}

func (s *site) body(b *testing.B, fields map[string]any) []byte {
	b.Helper()
	text, err := encode(fields)
	if err != nil {
		b.Fatal(fmt.Errorf("%v: %w", fields, err))
	}
	return text
}

// wire is a client that costs little, because it shares the processors with the server.
type wire struct {
	conn   net.Conn
	answer *bufio.Reader
}

func (w *wire) close() {
	if w.conn != nil {
		w.conn.Close()
	}
}

// post sends a body and waits for the end of the answer, which must have this status.
func (w *wire) post(b *testing.B, s *site, path string, body []byte, status string) {
	if w.conn == nil {
		w.conn = s.raw(b)
		w.answer = bufio.NewReader(w.conn)
	}
	head := "POST " + path + " HTTP/1.1\r\nHost: " + s.host + "\r\nAuthorization: Bearer " + s.token +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	if _, err := w.conn.Write(append([]byte(head), body...)); err != nil {
		b.Error(err)
		return
	}
	length, first := 0, ""
	for {
		line, err := w.answer.ReadString('\n')
		if err != nil {
			b.Error(err)
			return
		}
		if first == "" {
			first = line
		}
		if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			length, _ = strconv.Atoi(strings.TrimSpace(n))
		}
		if line == "\r\n" {
			break
		}
	}
	if _, err := w.answer.Discard(length); err != nil || !strings.Contains(first, " "+status+" ") {
		b.Error(first, err)
	}
}
