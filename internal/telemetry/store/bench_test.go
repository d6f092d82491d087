package store

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/telemetry"
)

// benchBoth runs a benchmark on each engine.
func benchBoth(b *testing.B, f func(b *testing.B, s *Store)) {
	for name, place := range map[string]func(testing.TB) place{"SQLite": filePlace, "PostgreSQL": serverPlace} {
		b.Run(name, func(b *testing.B) { f(b, place(b).open(b)) })
	}
}

// llmCall is a body like those that runs send.
func llmCall(n, parent int) []byte {
	return fmt.Appendf(nil, `{"event_id":%q,"run_id":"run-2026-l1-llm_call-section-%d-a1","parent_run_id":"run-2026-l1-worker-%d-a1","agent_name":"writer-%d",
		"job_type":"llm_call","status":"running","start_time":"2026-01-02T03:04:05.123456Z","product":"ramet","host":"host","environment":"dev","trigger_type":"run",
		"input_summary":"Write the section about %d, in the style of the others.","git_repo":"https://example.com/project.git","git_branch":"main",
		"metrics_json":{"input_tokens":%d,"output_tokens":256,"total_tokens":%d,"cache_read_tokens":100,"api_cost_usd":0.0125,"finish_reason":"stop"},
		"context_json":{"trace_id":"0af7651916cd43dd8448eb211c8031%02x","span_id":"b7ad6b7169203331","parent_span_id":"00f067aa0ba902b7","call_id":"c-%d",
		"model":"some-model-1","temperature":0,"max_tokens":4096,"prompt_hash":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}`,
		telemetry.EventID("bench", fmt.Sprint(n)), n, parent, n%20, n, n, n+256, n%256, n)
}

// Batches of a hundred from four callers, read from their bodies. One iteration is one
// batch.
func BenchmarkBatches(b *testing.B) {
	benchBoth(b, func(b *testing.B, s *Store) {
		shared(b, s, 4, 100)
	})
}

func shared(b *testing.B, s *Store, callers, size int) {
	var next, done atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range callers {
		wg.Go(func() {
			for {
				batch := int(next.Add(1)) - 1
				if batch >= b.N {
					return
				}
				news := make([]telemetry.New, size)
				for i := range news {
					news[i] = parseNew(b, string(llmCall(batch*size+i, 1)))
				}
				for _, r := range create(b, s, news...) {
					if r.Outcome == telemetry.Created {
						done.Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	if done.Load() != int64(b.N*size) {
		b.Fatalf("%d of %d were created", done.Load(), b.N*size)
	}
	rate := float64(done.Load()) / took.Seconds()
	b.ReportMetric(rate, "records/s")
	b.ReportMetric(rate/5000, "of-5000/s")
}

// A launch with ten thousand records below it, among as many others.
func BenchmarkTreeOfTenThousand(b *testing.B) {
	benchBoth(b, func(b *testing.B, s *Store) {
		var news []telemetry.New
		for n := range 20_000 {
			one := parseNew(b, string(llmCall(n, n/20)))
			switch {
			case n == 0:
				one.ParentRunID, one.JobType = "", telemetry.Launch
			case n < 100:
				one.ParentRunID, one.JobType = news[0].RunID, telemetry.Node
			case n < 10_000:
				one.ParentRunID = news[n%99+1].RunID
			}
			news = append(news, one)
		}
		create(b, s, news...)
		b.ResetTimer()
		for b.Loop() {
			tree, err := s.Tree(b.Context(), news[0].EventID)
			if err != nil || tree.Sums.Records != 10_000 || tree.Sums.Calls != 9_900 {
				b.Fatal(tree.Sums, err)
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/tree")
	})
}

// A page of a hundred out of a hundred thousand, by a filter that fits few.
func BenchmarkPage(b *testing.B) {
	benchBoth(b, func(b *testing.B, s *Store) {
		for n := 0; n < 100_000; n += 1000 {
			news := make([]telemetry.New, 1000)
			for i := range news {
				news[i] = parseNew(b, string(llmCall(n+i, n)))
			}
			create(b, s, news...)
		}
		b.ResetTimer()
		for b.Loop() {
			page, next, err := s.List(b.Context(), telemetry.Filter{AgentName: "writer-7"})
			if err != nil || len(page) != 100 || next == "" {
				b.Fatal(len(page), err)
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/page")
	})
}
