package app_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// through lets a host reach the database over a network that fails as it is told to.
func (h *host) through() *pgtest.Proxy {
	h.t.Helper()
	copied := *h.team
	p := pgtest.Through(h.t, h.db)
	h.team, copied.db = &copied, p.URL
	return p
}

// away lets the server be away until a client has asked for it in vain.
func away(t *testing.T, network *pgtest.Proxy) {
	t.Helper()
	before := network.Barred()
	network.Down(true)
	testkit.WaitUntil(t, "it is not let in", func() bool { return network.Barred() > before })
	network.Down(false)
}

// A turn goes on over a connection that is lost in the middle of it.
func TestATurnOutlivesItsConnections(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	h := m.host("a")
	network := h.through()
	h.ramet(0, "fork", "--name", "ada")
	for i, stumble := range []func(){
		network.Cut,
		func() { away(t, network) },
		func() { network.Lose(func(n int) (pgtest.Fate, bool) { return pgtest.Fate(1 + n%3), n%2 == 1 }) },
	} {
		began, told := h.fifo()
		block, end := h.fifo()
		command := fmt.Sprintf("echo > %s; head -n 1 %s", began, block)
		model := h.script(fmt.Sprintf(`{"steps": [{"text": "I work"}, {"call": "bash", "args": {"command": %q}}]}`, command),
			fmt.Sprintf(`{"steps": [{"text": "done %d"}]}`, i))
		k := h.begin("exec", "ada", fmt.Sprintf("work %d", i), "--model", model, "--allow", "bash!("+command+")")
		h.told(told)
		stumble()
		fmt.Fprintln(end, "go on")
		k.ends(t, 0, fmt.Sprintf("done %d", i))
		network.Lose(nil)
	}
	record := m.record(m.agent("ada").ID)
	for i := range 3 {
		if strings.Count(record, fmt.Sprintf("user work %d", i)) != 1 || strings.Count(record, fmt.Sprintf("assistant done %d", i)) != 1 {
			t.Errorf("turn %d:\n%s", i, record)
		}
	}
}

// twelve has items of a model's agents, each of which waits at the gate.
const twelve = `
name: twelve
description: for tests
states:
  DRAFTING: [draft]
workers:
  draft:
    each: [i01, i02, i03, i04, i05, i06, i07, i08, i09, i10, i11, i12]
    prompt: 'write {{scope}} patiently'
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`

// A run goes on by itself, wherever its log is, while its connections are ended, answers to
// commits are lost, and the server is away for a moment.
func TestARunGoesOnByItself(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"ndjson", "postgres"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, twelve)
			network := f.boss.host.through()
			args := []string{"run", "start", "--recipe", "recipe.yaml", "--run-id", f.run, "--model", "script/model.jsonl"}
			if where == "postgres" {
				args = append(args, "--log", network.URL)
			}
			k := f.boss.begin(args...)
			k.told(f.boss)
			testkit.WaitUntil(t, "it works", func() bool { return holds(k.cmd.Process.Pid, filepath.Join(f.boss.dir, "gate")) })
			for i := range 12 {
				switch i % 4 {
				case 0:
					network.Cut()
				case 1:
					network.Lose(func(n int) (pgtest.Fate, bool) { return pgtest.Fate(1 + n%3), n%4 == 0 })
				case 2:
					away(t, network)
				case 3:
					network.Lose(nil)
				}
				f.boss.open(1)
				testkit.WaitUntil(t, fmt.Sprintf("%d items are done", i+1), func() bool { return strings.Count(k.stderr.String(), "done draft:") > i })
			}
			f.done(k)
			if network.Lost() == 0 {
				t.Error("no commit was lost")
			}
		})
	}
}
