package bench

import (
	"database/sql"
	"runtime"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/store"
)

func replay(b *testing.B, s *store.Store, a id.Agent, want int) *history.Context {
	b.Helper()
	c := must[*history.Context](b)(history.Replay(b.Context(), s, a))
	if len(c.Messages) != want {
		b.Fatalf("replayed %d messages, want %d", len(c.Messages), want)
	}
	return c
}

// Replay costs little more than reading the rows; the bare side does not even
// keep them.
func BenchmarkReplayAgainstBareDriver(b *testing.B) {
	onBoth(b, func(b *testing.B, e engine) {
		s, place := e.make(b)
		reader := child(b, s)
		size := scaled(100_000)
		fill(b, s, reader, size)
		bare := e.bare(b, place)
		read := func() {
			rows := must[*sql.Rows](b)(bare.QueryContext(b.Context(), `SELECT id, agent_uuid, kind, content, meta, created_at, hash
				FROM messages WHERE agent_uuid = $1 AND id > $2 AND id <= $3 ORDER BY id`, string(reader), 0, int64(1<<62)))
			defer rows.Close()
			n := 0
			for rows.Next() {
				var m, created int64
				var who, kind, content, meta, hash sql.RawBytes
				check(b, rows.Scan(&m, &who, &kind, &content, &meta, &created, &hash))
				n++
			}
			check(b, rows.Err())
			if n != size+1 { // and the fork
				b.Fatalf("read %d rows", n)
			}
		}
		var theirs, ours times
		for b.Loop() {
			for range 5 {
				runtime.GC() // nobody pays for the other's rubbish
				theirs.of(read)
				runtime.GC()
				ours.of(func() { replay(b, s, reader, size) })
			}
		}
		atMost(b, e.name+": replay of 100,000 messages / bare driver", "", ours.at(0.5)/theirs.at(0.5), 1.5)
		shown(b, e.name+": messages replayed", "/s", float64(size)/ours.at(0.5)*1e9)
	})
}

// allocated is how many bytes f allocates.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	f() // what is made once only
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}
