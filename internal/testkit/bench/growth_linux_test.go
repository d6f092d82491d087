package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/store"
	"ramet/internal/testkit/probe"
)

// growthFolder is where the table and the picture of what grows are written; empty: nowhere.
var growthFolder = os.Getenv("RAMET_BENCH_GROWTH")

// How cost grows with messages, with agents and with the items of a run: flat lines are the
// point. All are on SQLite. What is called turn has ten messages in its context, however many
// lie behind the clear before them.
func BenchmarkGrowth(b *testing.B) {
	sh := newShell(b, "-tags", probe.Tag) // the model of the runs is a script
	var panels []panel
	b.Run("Messages", func(b *testing.B) {
		p := panel{title: "messages in one history"}
		for _, n := range tens(10, max(1000, scaled(1_000_000))) {
			sh.withMessages(b, &p, n)
		}
		panels = append(panels, p.told(b))
	})
	b.Run("Agents", func(b *testing.B) {
		p := panel{title: "agents in one workspace"}
		for _, n := range tens(1, max(100, scaled(10_000))) {
			sh.withAgents(b, &p, n)
		}
		panels = append(panels, p.told(b))
	})
	b.Run("Items", func(b *testing.B) {
		p := panel{title: "items of one run"}
		for _, n := range tens(10, max(10, scaled(10_000))) {
			project := newProject(b, sh, n)
			p.add("an item, processor", n, float64(project.carry(b, n+2, project.start()...).CPU)/float64(n)/1e6)
		}
		panels = append(panels, p.told(b))
	})
	if growthFolder == "" {
		return
	}
	check(b, os.WriteFile(filepath.Join(growthFolder, "growth.svg"), []byte(drawn(panels)), 0o644))
	check(b, os.WriteFile(filepath.Join(growthFolder, "growth.md"), []byte(tables(panels)), 0o644))
}

// tens are the powers of ten times from, up to a number.
func tens(from, to int) (out []int) {
	for n := from; n <= to; n *= 10 {
		out = append(out, n)
	}
	return out
}

// growthRounds is how often each thing is done. The fastest counts: what else the machine
// does shall not look like growth.
const growthRounds = 30

func (s *shell) withMessages(b *testing.B, p *panel, n int) {
	var one id.Agent
	s.workspace(b, func(db *store.Store, zero id.Agent) {
		one = fork(b, db, zero, 1, func(int) string { return "one" })[0].ID
		discuss(b, db, one, n)
	})
	s.fromOutside(b, p, n)
	db := engines[0].reopen(b, s.db(b))
	defer db.Close()
	p.add("replay, a message", n, fastest(3, func() { must[*history.Context](b)(history.Replay(b.Context(), db, one)) })/float64(n))
	verbs(b, p, db, one, n)
	_, err := db.Append(b.Context(), one, agent.Passing(), history.NewClear())
	check(b, err)
	discuss(b, db, one, 10)
	turns(b, p, db, one, n)
}

func (s *shell) withAgents(b *testing.B, p *panel, n int) {
	var one id.Agent
	s.workspace(b, func(db *store.Store, zero id.Agent) {
		one = fork(b, db, zero, 1, func(int) string { return "one" })[0].ID
		discuss(b, db, one, 10)
		fork(b, db, zero, n-1, func(i int) string { return fmt.Sprintf("worker-%d", i) })
	})
	s.fromOutside(b, p, n)
	db := engines[0].reopen(b, s.db(b))
	defer db.Close()
	p.add("replay, a message", n, fastest(growthRounds, func() { must[*history.Context](b)(history.Replay(b.Context(), db, one)) })/10)
	turns(b, p, db, one, n)
	verbs(b, p, db, one, n)
}

// fromOutside measures commands, by the processor.
func (s *shell) fromOutside(b *testing.B, p *panel, n int) {
	env := []string{"HOME=" + s.home, "RAMET_HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
	for _, c := range []struct {
		name string
		args []string
	}{{"start (`ramet show`), processor", []string{"show", "one"}}, {"`ramet ps --json`, processor", []string{"ps", "--json"}}} {
		var cpu []float64
		for range 9 {
			cpu = append(cpu, float64(apart[used](b, shooting, errand{Path: s.binary, Args: c.args, Dir: s.project, Env: env}).CPU)/1e6)
		}
		p.add(c.name, n, slices.Min(cpu))
	}
}

func verbs(b *testing.B, p *panel, db *store.Store, one id.Agent, n int) {
	p.add("append", n, fastest(growthRounds, func() {
		_, err := db.Append(b.Context(), one, agent.Passing(), drafts(b, 0, 1)...)
		check(b, err)
	}))
	p.add("fork", n, fastest(growthRounds, func() { forkOnce(b, db, one) }))
}

func turns(b *testing.B, p *panel, db *store.Store, one id.Agent, n int) {
	k := start(b, ports(db, instant))
	turn(b, k, one, "Go on.")
	p.add("turn, instant model", n, fastest(growthRounds, func() { turn(b, k, one, "Go on.") }))
	k.Stop()
}

// fastest is how long f takes at best of so many times, in milliseconds.
func fastest(rounds int, f func()) float64 {
	var t times
	for range rounds {
		t.of(f)
	}
	return t.at(0.5) / 1e6
}

// told prints how much each line grew from its first to its last figure.
func (p *panel) told(b *testing.B) panel {
	for _, l := range p.lines {
		first, last := l.at[0], l.at[len(l.at)-1]
		shown(b, fmt.Sprintf("%s, %d / %d %s", l.name, last.n, first.n, p.title), "", last.ms/first.ms)
	}
	return *p
}
