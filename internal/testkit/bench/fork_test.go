package bench

import (
	"encoding/binary"
	"os"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/testkit"
)

func forkOnce(b *testing.B, s *store.Store, parent id.Agent) {
	testkit.Must(s.Fork(b.Context(), registry.Fork{Parent: parent, Claim: agent.Passing(),
		Children: []registry.Child{{ID: id.NewAgent()}}}))(b)
}

// Fork costs at most three bare one-row commits, at the median and at p99, and
// is one commit.
func BenchmarkForkAgainstBareCommit(b *testing.B) {
	onBoth(b, func(b *testing.B, e engine) {
		s, place := e.make(b)
		parent := child(b, s)
		fill(b, s, parent, 10)
		commit := e.bareCommit(b, place)
		// The first hundreds are slower, the bare side's most of all: counting
		// them would flatter us.
		for range scaled(500) {
			commit()
			forkOnce(b, s, parent)
		}
		var theirs, ours times
		for b.Loop() {
			for range scaled(500) {
				theirs.of(commit)
				ours.of(func() { forkOnce(b, s, parent) })
			}
		}
		atMost(b, e.name+": fork p50 / bare one-row commit p50", "", ours.at(0.5)/theirs.at(0.5), 3)
		atMost(b, e.name+": fork p99 / bare one-row commit p99", "", ours.at(0.99)/theirs.at(0.99), 3)
		shown(b, e.name+": bare one-row commit p50", "µs", theirs.at(0.5)/1e3)

		const forks = 20
		if e.name == "SQLite" {
			settle(b, place) // an empty log
		}
		before := e.commits(b, place)
		for range forks {
			forkOnce(b, s, parent)
		}
		atMost(b, e.name+": commits of one fork", "", float64(e.commits(b, place)-before)/forks, 1)
	})
}

// commits counts the transactions that a workspace has seen: the commit frames
// in SQLite's log, or the transaction ids that PostgreSQL gave out.
func (e engine) commits(b *testing.B, place string) int64 {
	b.Helper()
	if e.name != "SQLite" {
		var n int64
		db := e.bare(b, place)
		defer db.Close()
		check(b, db.QueryRowContext(b.Context(), `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint`).Scan(&n))
		return n
	}
	log := must[[]byte](b)(os.ReadFile(place + "-wal"))
	if len(log) == 0 {
		return 0
	}
	page := int(binary.BigEndian.Uint32(log[8:]))
	salt := string(log[16:24])
	var n int64
	for frame := log[32:]; len(frame) >= 24+page && string(frame[8:16]) == salt; frame = frame[24+page:] {
		if binary.BigEndian.Uint32(frame[4:]) != 0 {
			n++
		}
	}
	return n
}

// A fork adds little to the database.
func BenchmarkForkGrowth(b *testing.B) {
	s, place := engines[0].make(b)
	parent := child(b, s)
	fill(b, s, parent, 1000)
	before, forks := settle(b, place), 0
	for b.Loop() {
		for range scaled(1000) {
			forkOnce(b, s, parent)
			forks++
		}
	}
	atMost(b, "SQLite: growth of the database by one fork", "bytes", float64(settle(b, place)-before)/float64(forks), 4096)
}

// A cascade ends 10,000 agents in one transaction.
func BenchmarkCascadeKill(b *testing.B) {
	onBoth(b, func(b *testing.B, e engine) {
		s, _ := e.make(b)
		agents := scaled(10_000)
		var took times
		for b.Loop() {
			top := child(b, s)
			made := 1
			for _, lead := range fork(b, s, top, min(100, agents-1), nameless) {
				made++
				made += len(fork(b, s, lead.ID, min(99, agents-made), nameless))
			}
			took.of(func() {
				done := must[registry.Killed](b)(s.Kill(b.Context(), registry.Kill{Agent: top, Cascade: true, Reason: "killed"}))
				if len(done.Victims) != made {
					b.Fatalf("killed %d of %d", len(done.Victims), made)
				}
			})
		}
		atMost(b, e.name+": cascade kill of 10,000 agents", "s", took.at(0.5)/1e9, 2)
	})
}
