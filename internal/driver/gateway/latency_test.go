package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/core/agent"
)

// BenchmarkAddedLatency is what the gate adds to a call, against the same call without it: p50 at
// most 1 ms, p99 at most 5 ms, to the first byte and to the last.
func BenchmarkAddedLatency(b *testing.B) {
	direct, through := places(b)
	body := `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"` + strings.Repeat("x", 60_000) + `"}]}`
	took := map[string][]time.Duration{}
	for range b.N {
		for _, at := range []struct{ name, url string }{{"direct", direct}, {"gate", through}} {
			began := time.Now()
			answer, err := http.Post(at.url+"/v1/messages", "application/json", strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			one := make([]byte, 1)
			if _, err := io.ReadFull(answer.Body, one); err != nil {
				b.Fatal(err)
			}
			took[at.name+" first"] = append(took[at.name+" first"], time.Since(began))
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			took[at.name+" last"] = append(took[at.name+" last"], time.Since(began))
		}
	}
	for _, what := range []string{"first", "last"} {
		for _, p := range []struct {
			name  string
			share float64
		}{{"p50", 0.50}, {"p99", 0.99}} {
			added := quantile(took["gate "+what], p.share) - quantile(took["direct "+what], p.share)
			b.ReportMetric(float64(added.Microseconds())/1000, "ms-added-"+what+"-"+p.name)
		}
	}
}

func quantile(all []time.Duration, share float64) time.Duration {
	slices.Sort(all)
	return all[min(len(all)-1, int(float64(len(all))*share))]
}

// BenchmarkStreams is what 200 streams at once take of memory: at most 100 MB.
func BenchmarkStreams(b *testing.B) {
	const streams = 200
	for range b.N {
		begun, over := make(chan struct{}, streams), make(chan struct{})
		_, through := placesWith(b, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, strings.SplitAfterN(anthropicStream, "\n\n", 2)[0])
			http.NewResponseController(w).Flush()
			begun <- struct{}{}
			<-over
			io.WriteString(w, strings.SplitAfterN(anthropicStream, "\n\n", 2)[1])
		})
		body := bytes.Repeat([]byte("x"), 60_000)
		before := inUse()
		var work sync.WaitGroup
		for range streams {
			work.Go(func() {
				answer, err := http.Post(through+"/v1/messages", "application/json", strings.NewReader(`{"model":"m","max_tokens":9,"x":"`+string(body)+`"}`))
				if err != nil {
					b.Error(err)
					return
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			})
		}
		for range streams {
			<-begun
		}
		b.ReportMetric(float64(inUse()-before)/1e6, "MB") // both ends of each stream, and the vendor
		close(over)
		work.Wait()
	}
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// places are a vendor, and a gate before it.
func places(b *testing.B) (direct, through string) {
	return placesWith(b, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, anthropicStream)
	})
}

func placesWith(b *testing.B, answer http.HandlerFunc) (direct, through string) {
	b.Helper()
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		answer(w, r)
	}))
	b.Cleanup(vendor.Close)
	at, err := url.Parse(vendor.URL)
	if err != nil {
		b.Fatal(err)
	}
	store := newModel(agent.Budget{Tokens: agent.AtMost(1 << 40)})
	gate, err := Open(Options{Reserver: NewReserver(store, "bench"), Upstream: map[string]*url.URL{"anthropic": at},
		Record: func(context.Context, Record) error { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { gate.Close() })
	door, err := gate.Door(Way{Agent: store.root.ID})
	if err != nil {
		b.Fatal(err)
	}
	through, _ = door.Base("anthropic")
	return vendor.URL, through
}
