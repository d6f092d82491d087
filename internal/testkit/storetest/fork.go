package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

func testFork(t *testing.T, w *Workspace) {
	d := open(t, w)
	point := d.say(d.zero, "a", "b")[1]
	entry := func(s string) []history.Draft { return says(s) }
	kids := children("left", "")
	kids[0].Provider, kids[0].Model, kids[0].Cwd, kids[0].Entries = "acme", "large", "/elsewhere", entry("L")
	kids[1].Entries = []history.Draft{history.NewRewind(point.ID-1, ""), entry("R")[0]} // as --at does
	born := testkit.Must(d.s.Fork(background, registry.Fork{Parent: d.zero, Children: kids, Entries: entry("P")}))(t)

	equal(t, "the parent's history", d.kinds(d.zero), "fork user user fork user")
	equal(t, "the left one's", d.kinds(born[0].ID), "fork user")
	equal(t, "the right one's", d.kinds(born[1].ID), "fork rewind user")
	equal(t, "the parent's context", d.context(d.zero), "a b P")
	equal(t, "the left one's context", d.context(born[0].ID), "a b L")
	equal(t, "the right one's context", d.context(born[1].ID), "a R")
	for i, b := range born {
		if row := d.agent(b.ID); row != b {
			t.Errorf("returned %+v, stored %+v", b, row)
		}
		if b.ForkMessage != point.ID || b.Parent != d.zero || b.Depth != 1 || b.Status != agent.Running || b.ID != kids[i].ID {
			t.Errorf("child %d: %+v", i, b)
		}
		m := testkit.Must(d.own(b.ID)[0].Decode())(t)
		if m.Parent != d.zero || m.ForkMessage != point.ID.String() || m.Name == nil || *m.Name != kids[i].Name {
			t.Errorf("genesis of child %d: %+v", i, m)
		}
	}
	if b := born[0]; b.Provider != "acme" || b.Model != "large" || b.Cwd != "/elsewhere" {
		t.Errorf("%+v", b)
	}
	if b := born[1]; b.Cwd != "/where/it/began" {
		t.Errorf("a child inherits what it was not given: %+v", b)
	}
	fork := testkit.Must(d.own(d.zero)[3].Decode())(t)
	if !slices.Equal(fork.Children, []id.Agent{born[0].ID, born[1].ID}) {
		t.Errorf("the parent's fork entry: %+v", fork)
	}
	// Behind a clear, as context "none" does.
	empty := children("")
	empty[0].Entries = []history.Draft{history.NewClear(), entry("N")[0]}
	none := testkit.Must(d.s.Fork(background, registry.Fork{Parent: d.zero, Children: empty}))(t)[0]
	equal(t, "behind a clear", d.context(none.ID), "N")
	// Before the first message, and of a child without one.
	child := d.fork(none.ID, "")[0]
	grand := d.fork(child.ID, "")[0]
	d.say(none.ID, "later")
	equal(t, "a grandchild", d.context(grand.ID), "N")
	equal(t, "its depth", grand.Depth, 3)
	// Held from its birth.
	held := testkit.Must(d.s.Fork(background, registry.Fork{Parent: d.zero, Children: children(""), Holder: "kernel", Tenure: hour}))(t)[0]
	if row := d.agent(held.ID); row != held || row.Lease.Owner != "kernel" {
		t.Errorf("returned %+v, stored %+v", held, row)
	}
	refused(t, "a child that is held", must2(d.s.Append(background, held.ID, agent.Passing(), says("x")...)), fault.Leased)
	testkit.Must(d.s.Append(background, held.ID, agent.Held("kernel", held.Lease.Epoch), says("x")...))(t)
	if again := testkit.Must(d.s.Acquire(background, held.ID, "kernel", hour))(t).Lease; again.Epoch != held.Lease.Epoch {
		t.Errorf("the lease is number %d, and was %d", again.Epoch, held.Lease.Epoch)
	}
}

func testForkRefuses(t *testing.T, w *Workspace) {
	d := open(t, w)
	d.say(d.zero, "a")
	d.fork(d.zero, "taken")
	dead := d.fork(d.zero, "gone")[0]
	testkit.Must(d.s.Kill(background, killOf(dead.ID, false)))(t)
	before := d.audit()
	history0 := d.kinds(d.zero)
	try := func(parent id.Agent, c agent.Claim, kids ...registry.Child) error {
		born, err := d.s.Fork(background, registry.Fork{Parent: parent, Claim: c, Children: kids})
		if born != nil {
			t.Errorf("refused, and yet %d were born", len(born))
		}
		return err
	}
	ok := children("fine")[0]
	twice := children("", "")
	twice[1].ID = twice[0].ID
	bad := children("")[0]
	bad.Entries = []history.Draft{history.NewRewind(1<<40, "")}
	foreign := children("")[0]
	foreign.Cwd = "/\xff"
	refused(t, "no children", try(d.zero, agent.Passing()), fault.Usage)
	refused(t, "the second name is taken", try(d.zero, agent.Passing(), ok, children("taken")[0]), fault.Conflict)
	refused(t, "one name twice", try(d.zero, agent.Passing(), children("same", "same")...), fault.Conflict)
	refused(t, "one uuid twice", try(d.zero, agent.Passing(), twice...), fault.Conflict)
	refused(t, "a uuid that exists", try(d.zero, agent.Passing(), ok, registry.Child{ID: dead.ID}), fault.Conflict)
	refused(t, "a uuid that is none", try(d.zero, agent.Passing(), registry.Child{ID: "x"}), fault.InvalidID)
	refused(t, "an ill-formed name", try(d.zero, agent.Passing(), ok, children("Bad")[0]), fault.InvalidName)
	refused(t, "a folder that is not UTF-8", try(d.zero, agent.Passing(), foreign), fault.InvalidText)
	refused(t, "an unknown parent", try(id.NewAgent(), agent.Passing(), ok), fault.NotFound)
	refused(t, "a dead parent", try(dead.ID, agent.Passing(), ok), fault.DeadAgent)
	refused(t, "a bad entry of the second child", try(d.zero, agent.Passing(), ok, bad), fault.NotFound)
	refused(t, "a stale head", try(d.zero, agent.Passing().At(1), ok), fault.Conflict)
	refused(t, "a lease never had", try(d.zero, agent.Held("me", 4), ok), fault.Fenced)
	lease := testkit.Must(d.s.Acquire(background, d.zero, "kernel", hour))(t).Lease
	refused(t, "a leased parent", try(d.zero, agent.Passing(), ok), fault.Leased)
	if after := d.audit(); after != before {
		t.Errorf("a refused fork left a trace: %+v, before %+v", after, before)
	}
	equal(t, "the parent's history", d.kinds(d.zero), history0)
	if err := must2(d.s.Fork(background, registry.Fork{Parent: d.zero, Claim: agent.Held("kernel", lease.Epoch), Children: children("gone")})); err != nil {
		t.Errorf("a dead one's name is free again: %v", err)
	}
}

func must2[T any](_ T, err error) error { return err }

// testDrawings plays every example of the domain through the verbs.
func testDrawings(t *testing.T, w *Workspace) {
	d := open(t, w)
	for i, x := range Examples() {
		t.Run(x.Name, func(t *testing.T) {
			agents := play(t, &bench{t, d.s, d.zero}, x.Drawing, fmt.Sprintf("x%d.", i))
			for name, want := range x.Context {
				if got := (&bench{t, d.s, d.zero}).context(agents[name]); got != want {
					t.Errorf("context of %s: %q, want %q\n%s", name, got, want, x.Drawing)
				}
			}
		})
	}
}

// play carries out a drawing, below agent 0, which has nothing to inherit, and
// returns its agents. Names of agents get a prefix.
func play(t testing.TB, d *bench, drawing, prefix string) map[string]id.Agent {
	t.Helper()
	tree := testkit.Must(ParseTree(drawing))(t)
	agents := map[string]id.Agent{}
	stored := map[id.Message]id.Message{}
	real := func(m id.Message) id.Message { return stored[m] }
	fork := func(parent id.Agent, at *TreeStep, of *TreeAgent) {
		var due []*TreeAgent
		for _, a := range tree.Agents {
			if a.Parent == of && a.Fork == at && (of != nil || at == nil) {
				due = append(due, a)
			}
		}
		for len(due) > 0 {
			n := 1
			for n < len(due) && due[n].Twin {
				n++
			}
			var names []string
			for _, a := range due[:n] {
				names = append(names, prefix+a.Name)
			}
			for i, born := range d.fork(parent, names...) {
				agents[due[i].Name] = born.ID
			}
			due = due[n:]
		}
	}
	var steps []*TreeStep
	for _, a := range tree.Agents {
		steps = append(steps, a.Steps...)
	}
	slices.SortFunc(steps, func(a, b *TreeStep) int { return int(a.ID - b.ID) })
	var settle func(a *TreeAgent)
	settle = func(a *TreeAgent) { // forks before the first entry
		fork(agents[a.Name], nil, a)
		for _, c := range tree.Agents {
			if c.Parent == a && c.Fork == nil {
				settle(c)
			}
		}
	}
	fork(d.zero, nil, nil)
	settle(tree.Agents[0])
	for _, s := range steps {
		a := agents[s.Agent.Name]
		if s.Kind == history.Killed {
			testkit.Must(d.s.Kill(background, killOf(a, false)))(t)
			continue
		}
		stored[s.ID] = d.append(a, s.Draft(real))[0].ID
		fork(a, s, s.Agent)
		for _, c := range tree.Agents {
			if c.Fork == s {
				settle(c)
			}
		}
	}
	return agents
}

func testClock(t *testing.T, w *Workspace) {
	d := open(t, w)
	agents := play(t, d, `
		root ─ m1 ─ m2 ─ mark(x) ─ m4 ─ m8
		                           └─ m5 ─ rewind(x) ─ m7 (child)`, "")
	raw := w.Raw(t)
	exec := func(q string) {
		t.Helper()
		testkit.Must(raw.ExecContext(background, q))(t)
	}
	exec(`CREATE TABLE clock AS SELECT id, created_at FROM messages`)
	for _, clock := range []string{`1000000`, `1000000000000 - id * 1000000`} { // all equal, and backward
		exec(`UPDATE messages SET created_at = ` + clock)
		equal(t, "root", d.context(agents["root"]), "m1 m2 m4 m8")
		equal(t, "child", d.context(agents["child"]), "m1 m2 m7")
	}
	exec(`UPDATE messages SET created_at = (SELECT c.created_at FROM clock c WHERE c.id = messages.id)`)
	exec(`DROP TABLE clock`)
}

func testDeep(t *testing.T, w *Workspace) {
	d := open(t, w)
	depth := 1000
	if !testkit.SoakOn() {
		depth = 300
	}
	var want strings.Builder
	a := d.zero
	for i := range depth {
		kid := children("")
		s := fmt.Sprint(i)
		kid[0].Entries = says(s)
		a = testkit.Must(d.s.Fork(background, registry.Fork{Parent: a, Children: kid}))(t)[0].ID
		want.WriteString(s + " ")
	}
	equal(t, "depth", d.agent(a).Depth, depth)
	equal(t, "context", d.context(a)+" ", want.String())
	tail := testkit.Must(history.Tail(background, d.s, a, 3))(t)
	equal(t, "tail", TreeTexts(t, tail), fmt.Sprint(depth-3, " ", depth-2, " ", depth-1))
	first := d.own(a)[0].ID
	d.append(a, history.NewRewind(first, ""))
	equal(t, "count after a rewind", d.agent(a).Total, int64(depth-1))
	top := d.agent(testkit.Must(d.s.Lineage(background, a))(t)[depth-1].Agent)
	killed := testkit.Must(d.s.Kill(background, killOf(top.ID, true)))(t)
	equal(t, "victims", len(killed.Victims), depth)
}
