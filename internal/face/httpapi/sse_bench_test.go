package httpapi

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
)

// 500 readers, one of which stops reading: the writer takes at most 10 % longer. A write
// is what the kernel does: a durable entry, then its event, and a few deltas before it.
//
// Rounds alternate, and the median of each kind counts: both have the same machine. What
// 500 readers cost at all is told beside it.
func BenchmarkWriterWith500ReadersAndOneDeaf(b *testing.B) {
	f := newFloor(b, ``, func(o *EventsOptions) { o.Look, o.Pace = 250*time.Millisecond, 25*time.Millisecond })
	s := opened(b, f)
	kid := f.child(b, f.zero.ID, "kid")
	const readers, rounds = 500, 5
	var alone, reading, deaf []time.Duration
	round := func() time.Duration { return f.write(b, 200) }
	round() // warm
	for range rounds {
		alone = append(alone, round())
	}
	spawn(b, orders{URL: s.base + "/api/v1/events?agent=0", Token: s.token, Count: readers - 1})
	s.streams(b, readers-1)
	for b.Loop() {
		for range rounds {
			_, stop := spawn(b, orders{URL: s.base + "/api/v1/events?agent=0", Token: s.token, Count: 1})
			s.streams(b, readers)
			reading = append(reading, round())
			stop()
			s.streams(b, readers-1)
			c := s.raw(b)
			fmt.Fprintf(c, "GET /api/v1/events?agent=kid HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", s.host, s.token)
			s.streams(b, readers)
			f.flood(kid)
			deaf = append(deaf, round())
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
			s.streams(b, readers-1)
		}
	}
	ratio := float64(median(deaf)) / float64(median(reading))
	b.ReportMetric(ratio, "deaf/reading")
	b.ReportMetric(float64(median(reading))/float64(median(alone)), "500/none")
	b.ReportMetric(float64(median(deaf).Microseconds())/200, "µs/write")
	if ratio > 1.10 {
		b.Errorf("the writer takes %.0f %% longer when one of %d readers stops", 100*(ratio-1), readers)
	}
}

func median(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// write writes as the kernel does.
func (f *floor) write(b testing.TB, n int) time.Duration {
	begin := time.Now()
	for i := range n {
		d, err := history.Say(history.Assistant, fmt.Sprint("message ", i))
		if err != nil {
			b.Fatal(err)
		}
		for range 5 {
			f.Kernel.Events.Publish(loop.Event{Type: loop.TextDelta, Agent: f.zero.ID, Text: "some words "})
		}
		e, err := f.store.Append(context.Background(), f.zero.ID, agent.Passing(), d)
		if err != nil {
			b.Fatal(err)
		}
		f.Kernel.Events.Publish(loop.Event{Type: loop.Recorded, Agent: f.zero.ID, Entry: &e[0]})
	}
	return time.Since(begin)
}

// flood fills the sockets of those who watch an agent: 12 MB, no faster than the others
// pass over them.
func (f *floor) flood(who id.Agent) {
	text := strings.Repeat("x", 200<<10)
	for range 60 {
		f.Events.Publish(loop.Event{Type: loop.CallOutput, Agent: who, Text: text})
		<-time.After(5 * time.Millisecond)
	}
}

// drainMany reads streams in a process of its own, as browsers do.
func drainMany(o orders) error {
	for range o.Count {
		r, err := http.NewRequest(http.MethodGet, o.URL, nil)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+o.Token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		go io.Copy(io.Discard, answer.Body)
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	return nil
}
