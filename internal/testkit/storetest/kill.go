package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

const hour = time.Hour

func killOf(a id.Agent, cascade bool) registry.Kill {
	return registry.Kill{Agent: a, Cascade: cascade, Reason: "enough"}
}

func testKill(t *testing.T, w *Workspace) {
	d := open(t, w)
	kid := d.fork(d.zero, "kid")[0]
	grand := d.fork(kid.ID, "grand")[0]
	lease := testkit.Must(d.s.Acquire(background, kid.ID, "kernel", hour))(t).Lease

	killed := testkit.Must(d.s.Kill(background, registry.Kill{Agent: kid.ID, By: d.zero, Reason: "done"}))(t)
	row := d.agent(kid.ID)
	if len(killed.Victims) != 1 || killed.Before || killed.Agent != row || killed.Victims[0] != row {
		t.Errorf("%+v, stored %+v", killed, row)
	}
	if row.Status != agent.Dead || row.EndReason != "done" || row.EndedAt.IsZero() || row.Lease.Owner != "" || row.Lease.Epoch <= lease.Epoch {
		t.Errorf("%+v", row)
	}
	own := d.own(kid.ID)
	m := testkit.Must(own[len(own)-1].Decode())(t)
	if m.By != string(d.zero) || m.Reason != "done" {
		t.Errorf("killed entry: %+v", m)
	}
	equal(t, "children live on", d.agent(grand.ID).Status, agent.Running)
	_, err := d.s.Renew(background, kid.ID, "kernel", lease.Epoch, hour)
	refused(t, "the holder renews", err, fault.Fenced)
	_, err = d.s.Acquire(background, kid.ID, "kernel", hour)
	refused(t, "a lease on the dead", err, fault.DeadAgent)

	again := testkit.Must(d.s.Kill(background, registry.Kill{Agent: kid.ID, Reason: "again"}))(t)
	if !again.Before || len(again.Victims) != 0 || again.Agent != row || d.agent(kid.ID) != row {
		t.Errorf("kill of the dead: %+v", again)
	}
	_, err = d.s.Kill(background, killOf(d.zero, false))
	refused(t, "agent 0", err, fault.AgentZero)
	_, err = d.s.Kill(background, killOf(d.zero, true))
	refused(t, "agent 0 with all", err, fault.AgentZero)
	_, err = d.s.Kill(background, killOf(id.NewAgent(), false))
	refused(t, "an unknown agent", err, fault.NotFound)
	_, err = d.s.Kill(background, registry.Kill{Agent: grand.ID, Reason: "\xff"})
	refused(t, "a reason that is not UTF-8", err, fault.InvalidText)
	equal(t, "the grandchild", d.agent(grand.ID).Status, agent.Running)
}

// testOpenCalls: an agent that is killed at work leaves a result for each call of its newest answer that has none.
func testOpenCalls(t *testing.T, w *Workspace) {
	d := open(t, w)
	answer := history.Draft{Kind: history.Assistant, Parts: []history.Part{
		{Type: history.ToolCall, CallID: "1", Name: "bash", Args: []byte(`{}`)}, {Type: history.ToolCall, CallID: "2", Name: "bash", Args: []byte(`{}`)}}}
	result := func(call string) history.Draft {
		return history.Draft{Kind: history.ToolResult, Parts: []history.Part{{Type: history.Result, CallID: call, Name: "bash", Text: "done"}}}
	}
	for _, c := range []struct {
		name, left string // left lists the calls that get a result
		drafts     []history.Draft
	}{
		{"none", "", []history.Draft{text(history.User, "go")}},
		{"both", "12", []history.Draft{answer}},
		{"second", "2", []history.Draft{answer, result("1")}},
		{"first", "1", []history.Draft{answer, result("2")}},
		{"answered", "", []history.Draft{answer, result("1"), result("2")}},
		{"older", "2", []history.Draft{answer, result("1"), result("2"), answer, result("1")}},
		{"dropped", "", []history.Draft{answer, text(history.User, "never mind"), budget(9, -1)}},
		{"cleared", "", []history.Draft{answer, result("1"), history.NewClear(), budget(9, -1)}},
	} {
		a := d.fork(d.zero, c.name)[0].ID
		written := d.append(a, c.drafts...)
		testkit.Must(d.s.Acquire(background, a, "kernel", hour))(t)
		testkit.Must(d.s.Kill(background, killOf(a, false)))(t)
		left := ""
		for _, e := range d.own(a) {
			if e.ID <= written[len(written)-1].ID || e.Kind != history.ToolResult {
				continue
			}
			for _, p := range testkit.Must(e.Parts())(t) {
				left += p.CallID
			}
		}
		equal(t, c.name, left, c.left)
	}
}

func testCascade(t *testing.T, w *Workspace) {
	d := open(t, w)
	top := d.fork(d.zero, "top")[0]
	a := d.fork(top.ID, "a")[0]
	b := d.fork(top.ID, "b")[0]
	a1 := d.fork(a.ID, "a1")[0]
	b1 := d.fork(b.ID, "b1", "b2")
	beside := d.fork(d.zero, "beside")[0]
	testkit.Must(d.s.Kill(background, killOf(a.ID, false)))(t) // a1 is an orphan now

	killed := testkit.Must(d.s.Kill(background, killOf(top.ID, true)))(t)
	var got []string
	for _, v := range killed.Victims {
		got = append(got, v.Name)
		if v.Status != agent.Dead {
			t.Errorf("%s is returned as %s", v.Name, v.Status)
		}
	}
	equal(t, "victims, through the dead", fmt.Sprint(got), "[top b a1 b1 b2]")
	for _, v := range []agent.Agent{top, a, b, a1, b1[0], b1[1]} {
		equal(t, v.Name, d.agent(v.ID).Status, agent.Dead)
		equal(t, "history of "+v.Name, d.kinds(v.ID)[len(d.kinds(v.ID))-6:], "killed")
	}
	equal(t, "another branch", d.agent(beside.ID).Status, agent.Running)
	equal(t, "agent 0", d.agent(d.zero).Status, agent.Running)

	// Below a dead one.
	again := testkit.Must(d.s.Kill(background, killOf(top.ID, true)))(t)
	equal(t, "again", len(again.Victims), 0)
	living := testkit.Must(d.s.Agents(background, agent.Filter{}))(t)
	equal(t, "the living", len(living), 2)
	all := testkit.Must(d.s.Agents(background, agent.Filter{Dead: true}))(t)
	equal(t, "all", len(all), 8)
	for i, brief := range testkit.Must(d.s.Agents(background, agent.Filter{Dead: true, Brief: true}))(t) {
		a := all[i]
		equal(t, "in brief", brief, agent.Agent{ID: a.ID, Genesis: a.Genesis, Parent: a.Parent, Status: a.Status, Name: a.Name, CreatedAt: a.CreatedAt,
			Own: a.Own, Total: a.Total, Unread: a.Unread, Provider: a.Provider, Model: a.Model})
	}
}

// testCascadeAgainstForks kills a subtree while it grows: nothing of it may
// survive.
func testCascadeAgainstForks(t *testing.T, w *Workspace) {
	d := open(t, w)
	rounds := 12
	if !testkit.SoakOn() {
		rounds = 4
	}
	for round := range rounds {
		top := d.fork(d.zero, "")[0]
		var mu sync.Mutex
		family := []id.Agent{top.ID}
		grown := make(chan struct{})
		var once sync.Once
		var group sync.WaitGroup
		for worker := range 4 {
			group.Go(func() {
				for n := 0; ; n++ {
					mu.Lock()
					parent := family[(n*7+worker)%len(family)]
					if len(family) > 8 {
						once.Do(func() { close(grown) })
					}
					mu.Unlock()
					born, err := d.s.Fork(background, registry.Fork{Parent: parent, Children: children("", "")})
					if fault.Is(err, fault.DeadAgent) {
						once.Do(func() { close(grown) })
						return
					}
					if err != nil {
						t.Errorf("fork: %v", err)
						once.Do(func() { close(grown) })
						return
					}
					mu.Lock()
					family = append(family, born[0].ID, born[1].ID)
					mu.Unlock()
				}
			})
		}
		<-grown
		killed, err := d.s.Kill(background, killOf(top.ID, true))
		if err != nil {
			t.Fatalf("kill: %v", err)
		}
		group.Wait()
		equal(t, fmt.Sprintf("round %d: victims", round), len(killed.Victims), len(family))
		for _, a := range family {
			if d.agent(a).Status != agent.Dead {
				t.Fatalf("round %d: agent %s of the killed subtree is alive", round, a)
			}
		}
	}
	equal(t, "the living", len(testkit.Must(d.s.Agents(background, agent.Filter{}))(t)), 1)
}

func testRename(t *testing.T, w *Workspace) {
	d := open(t, w)
	kid := d.fork(d.zero, "kid")[0]
	other := d.fork(d.zero, "other")[0]
	rename := func(a id.Agent, c agent.Claim, to string) error { return must2(d.s.Rename(background, a, c, to)) }
	refused(t, "a name that a living one has", rename(kid.ID, agent.Passing(), "other"), fault.Conflict)
	refused(t, "an ill-formed name", rename(kid.ID, agent.Passing(), "Not a name"), fault.InvalidName)
	refused(t, "an unknown agent", rename(id.NewAgent(), agent.Passing(), "x"), fault.NotFound)
	refused(t, "a stale claim", rename(kid.ID, agent.Held("me", 3), "x"), fault.Fenced)
	equal(t, "nothing was written", d.kinds(kid.ID), "fork")
	got := testkit.Must(d.s.Rename(background, kid.ID, agent.Passing(), "new"))(t)
	if got != d.agent(kid.ID) || got.Name != "new" {
		t.Errorf("%+v", got)
	}
	equal(t, "to its own name", rename(kid.ID, agent.Passing(), "new"), nil)
	equal(t, "history", d.kinds(kid.ID), "fork command")
	equal(t, "the old name is free", rename(other.ID, agent.Passing(), "kid"), nil)
	equal(t, "without a name", rename(other.ID, agent.Passing(), ""), nil)
	equal(t, "without a name it has none", d.agent(other.ID).Name, "")
	equal(t, "agent 0", rename(d.zero, agent.Passing(), "boss"), nil)
	testkit.Must(d.s.Kill(background, killOf(kid.ID, false)))(t)
	refused(t, "the dead", rename(kid.ID, agent.Passing(), "ghost"), fault.DeadAgent)
	equal(t, "a dead one's name is free", rename(other.ID, agent.Passing(), "new"), nil)
}

func testDirectory(t *testing.T, w *Workspace) {
	d := open(t, w)
	kids := d.fork(d.zero, "worker", "ghost", "")
	testkit.Must(d.s.Kill(background, killOf(kids[0].ID, false)))(t)
	again := d.fork(d.zero, "worker")[0]
	testkit.Must(d.s.Kill(background, killOf(kids[1].ID, false)))(t)
	ghost := d.fork(d.zero, "ghost")[0]
	testkit.Must(d.s.Kill(background, killOf(ghost.ID, false)))(t)
	find := func(what, ref string, want id.Agent) {
		t.Helper()
		a, err := agent.Find(background, d.s, ref)
		if err != nil || a.ID != want {
			t.Errorf("%s: %s, %v, want %s", what, a.ID, err, want)
		}
	}
	find("0", "0", d.zero)
	find("a full uuid", string(kids[2].ID), kids[2].ID)
	find("a living name", "worker", again.ID)
	find("the newest dead name", "ghost", ghost.ID)
	find("a prefix", string(kids[2].ID[:10]), kids[2].ID)
	_, err := agent.Find(background, d.s, "wroker")
	refused(t, "an unknown name", err, fault.NotFound)
	_, err = d.s.Agent(background, id.NewAgent())
	refused(t, "an unknown uuid", err, fault.NotFound)
	list := testkit.Must(d.s.Agents(background, agent.Filter{Dead: true}))(t)
	var order []id.Agent
	for _, a := range list {
		order = append(order, a.ID)
	}
	equal(t, "in creation order", fmt.Sprint(order), fmt.Sprint([]id.Agent{d.zero, kids[0].ID, kids[1].ID, kids[2].ID, again.ID, ghost.ID}))
	equal(t, "names of the living", fmt.Sprint(testkit.Must(d.s.Names(background))(t)), "[worker]")
	some := testkit.Must(d.s.Prefixed(background, "", 3))(t)
	equal(t, "at most", len(some), 3)
}
