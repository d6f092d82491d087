package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/store"
	"ramet/internal/testkit"
)

// Workspace is a place for one workspace, empty at first.
type Workspace struct {
	// Open opens it; every call gives another handle on the same workspace.
	Open func() (*store.Store, error)
	// OpenFile opens a backup.
	OpenFile func(path string) (*store.Store, error)
	// Raw opens the database beside the store, as a tamperer would: without
	// waiting for the disk, and with no constraint in the way once Loosen ran.
	Raw    func(testing.TB) *sql.DB
	Loosen []string
	// Files are those of the database, nil for a server's.
	Files []string
}

// Factory makes workspaces.
type Factory func(testing.TB) *Workspace

// Run runs the suite.
func Run(t *testing.T, fresh Factory) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *Workspace)
	}{
		{"agent 0", testZero},
		{"first start by many openers", testFirstStart},
		{"two handles and a reopening", testReopen},
		{"append", testAppend},
		{"append refuses", testAppendRefuses},
		{"shaping entries", testShaping},
		{"ranges", testRanges},
		{"blobs", testBlobs},
		{"directory", testDirectory},
		{"fork", testFork},
		{"fork refuses and leaves no trace", testForkRefuses},
		{"kill", testKill},
		{"open calls", testOpenCalls},
		{"how histories end", testEndings},
		{"foreign content", testForeign},
		{"the newest words", testWords},
		{"ties", testTies},
		{"cascade", testCascade},
		{"cascade against forks", testCascadeAgainstForks},
		{"rename", testRename},
		{"mail", testMail},
		{"mail refuses", testMailRefuses},
		{"read with entries", testReadWithEntries},
		{"mail between kernels", testMailBetweenKernels},
		{"leases", testLeases},
		{"leases run out", testLeasesRunOut},
		{"leases of a kernel", testLeasesOfAKernel},
		{"leases seized from the dead", testSeize},
		{"renewals among other verbs", testRenewalsAmongVerbs},
		{"whoever lost a lease writes nothing", testFenced},
		{"replies in progress", testReplies},
		{"replies that are over", testRepliesOver},
		{"replies and redaction", testRepliesRedacted},
		{"persons and what they decided", testPersons},
		{"spending and budgets", testSpending},
		{"spending and budgets refused", testSpendingRefuses},
		{"allowances", testAllowances},
		{"holds", testHolds},
		{"no schedule of holds exceeds a budget", testSchedules},
		{"bell", testBell},
		{"redact", testRedact},
		{"redact leaves no bytes", testRedactBytes},
		{"gc", testGC},
		{"backup", testBackup},
		{"many writers", testManyWriters},
		{"feed", testFeed},
		{"feed under writers", testFeedUnderWriters},
		{"a view of one moment", testView},
		{"drawings", testDrawings},
		{"order by id, not by time", testClock},
		{"ancestry 1,000 deep", testDeep},
		{"random verbs against a naive model", testOracle},
		{"audit finds every edit", testEdits},
		{"audit finds what is missing or forged", testForgeries},
		{"audit with a checkpoint", testCheckpoint},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fresh(t)) })
	}
}

// bench is an open workspace with shorthands that end the test on an error.
type bench struct {
	t    testing.TB
	s    *store.Store
	zero id.Agent
}

// open opens a workspace, and audits it at the end of the test.
func open(t testing.TB, w *Workspace) *bench {
	t.Helper()
	d := openUnchecked(t, w)
	t.Cleanup(func() { d.audit() })
	return d
}

// openUnchecked is for tests that leave damage behind.
func openUnchecked(t testing.TB, w *Workspace) *bench {
	t.Helper()
	s := testkit.Must(w.Open())(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return at(t, s)
}

func at(t testing.TB, s *store.Store) *bench {
	t.Helper()
	zero := testkit.Must(s.Zero(t.Context()))(t)
	return &bench{t, s, zero.ID}
}

// audit works in cleanups too, when the test's context is over.
func (d *bench) audit() registry.Report {
	d.t.Helper()
	report, err := d.s.Audit(background, nil)
	if err != nil {
		d.t.Errorf("audit: %v", err)
	}
	return report
}

func text(k history.Kind, s string) history.Draft {
	return history.Draft{Kind: k, Parts: []history.Part{{Type: history.Text, Text: s}}}
}

func says(texts ...string) []history.Draft {
	out := make([]history.Draft, len(texts))
	for i, s := range texts {
		out[i] = text(history.User, s)
	}
	return out
}

func (d *bench) append(a id.Agent, drafts ...history.Draft) []history.Entry {
	d.t.Helper()
	out, err := d.s.Append(background, a, agent.Passing(), drafts...)
	if err != nil {
		d.t.Fatalf("append: %v", err)
	}
	return out
}

func (d *bench) say(a id.Agent, texts ...string) []history.Entry {
	d.t.Helper()
	return d.append(a, says(texts...)...)
}

// fork makes children with these names; "" is none.
func (d *bench) fork(parent id.Agent, names ...string) []agent.Agent {
	d.t.Helper()
	out, err := d.s.Fork(background, registry.Fork{Parent: parent, Children: children(names...)})
	if err != nil {
		d.t.Fatalf("fork: %v", err)
	}
	return out
}

func children(names ...string) []registry.Child {
	out := make([]registry.Child, len(names))
	for i, name := range names {
		out[i] = registry.Child{ID: id.NewAgent(), Name: name}
	}
	return out
}

func (d *bench) agent(a id.Agent) agent.Agent {
	d.t.Helper()
	out := testkit.Must(d.s.Agent(background, a))(d.t)
	return out
}

func (d *bench) replay(a id.Agent) *history.Context {
	d.t.Helper()
	c, err := history.Replay(background, d.s, a)
	if err != nil {
		d.t.Fatalf("replay: %v", err)
	}
	return c
}

// context is the texts of a context in one line.
func (d *bench) context(a id.Agent) string {
	d.t.Helper()
	c := d.replay(a)
	if total := d.agent(a).Total; total != int64(len(c.Messages)) {
		d.t.Errorf("agent %s has %d messages in its context, its row says %d", a, len(c.Messages), total)
	}
	return TreeTexts(d.t, c.Messages)
}

// own are all stored entries of an agent.
func (d *bench) own(a id.Agent) []history.Entry {
	d.t.Helper()
	var out []history.Entry
	for e, err := range d.s.QueryRange(background, history.Range{Agent: a}, history.Selection{}) {
		testkit.OK(d.t, err)
		out = append(out, e)
	}
	return out
}

func (d *bench) kinds(a id.Agent) string {
	d.t.Helper()
	out := ""
	for i, e := range d.own(a) {
		if i > 0 {
			out += " "
		}
		out += string(e.Kind)
	}
	return out
}

func refused(t testing.TB, what string, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("%s: %s (%v), want %s", what, fault.CodeOf(err), err, code)
	}
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// background serves cleanups and goroutines that outlive a subtest's context.
var background = context.Background()

func testLeases(t *testing.T, w *Workspace) {
	d := open(t, w)
	kid := d.fork(d.zero, "kid")[0].ID
	first := testkit.Must(d.s.Acquire(background, kid, "a", hour))(t).Lease
	if row := d.agent(kid).Lease; row != first || row.Owner != "a" || row.Epoch != 1 {
		t.Errorf("granted %+v, stored %+v", first, row)
	}
	now := testkit.Must(d.s.Describe(background))(t).Now
	if left := first.Until.Sub(now); left < hour-10*time.Second || left > hour+10*time.Second {
		t.Errorf("a lease of an hour ends in %s", left)
	}
	again := testkit.Must(d.s.Acquire(background, kid, "a", 2*hour))(t).Lease
	equal(t, "our own again keeps its epoch", again.Epoch, first.Epoch)
	if !again.Until.After(first.Until) {
		t.Error("and is longer")
	}
	_, err := d.s.Acquire(background, kid, "b", hour)
	refused(t, "another's", err, fault.Leased)
	_, err = d.s.Renew(background, kid, "b", first.Epoch, hour)
	refused(t, "renew another's", err, fault.Fenced)
	_, err = d.s.Renew(background, kid, "a", first.Epoch+1, hour)
	refused(t, "renew another epoch", err, fault.Fenced)
	equal(t, "renew", testkit.Must(d.s.Renew(background, kid, "a", first.Epoch, 3*hour))(t).Epoch, first.Epoch)
	equal(t, "release another's", d.s.Release(background, kid, "b", first.Epoch), nil)
	equal(t, "release another epoch", d.s.Release(background, kid, "a", first.Epoch+1), nil)
	equal(t, "still held", d.agent(kid).Lease.Owner, "a")
	equal(t, "release", d.s.Release(background, kid, "a", first.Epoch), nil)
	equal(t, "release twice", d.s.Release(background, kid, "a", first.Epoch), nil)
	_, err = d.s.Append(background, kid, agent.Held("a", first.Epoch), says("x")...)
	refused(t, "write after release", err, fault.Fenced)
	d.say(kid, "passing") // a free agent
	next := testkit.Must(d.s.Acquire(background, kid, "b", hour))(t).Lease
	if next.Epoch <= first.Epoch {
		t.Errorf("epoch %d after %d", next.Epoch, first.Epoch)
	}
	_, err = d.s.Append(background, kid, agent.Held("a", first.Epoch), says("x")...)
	refused(t, "write of the old holder", err, fault.Fenced)
	for _, verb := range []func(id.Agent) error{
		func(a id.Agent) error { return must2(d.s.Acquire(background, a, "a", hour)) },
		func(a id.Agent) error { return must2(d.s.Renew(background, a, "a", 1, hour)) },
		func(a id.Agent) error { return d.s.Release(background, a, "a", 1) },
	} {
		refused(t, "an unknown agent", verb(id.NewAgent()), fault.NotFound)
	}
}

// testLeasesRunOut waits for the database's own clock, by asking it until it
// says yes.
func testLeasesRunOut(t *testing.T, w *Workspace) {
	d := open(t, w)
	kid := d.fork(d.zero, "kid")[0].ID
	until := func(what string, ok func() error) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; {
			err := ok()
			if err == nil {
				return
			}
			if !fault.Is(err, fault.Leased) || time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	short := testkit.Must(d.s.Acquire(background, kid, "a", 20*time.Millisecond))(t).Lease
	until("another takes over", func() error { return must2(d.s.Acquire(background, kid, "b", 20*time.Millisecond)) })
	_, err := d.s.Append(background, kid, agent.Held("a", short.Epoch), says("late")...)
	refused(t, "the first holder wakes up", err, fault.Fenced)
	_, err = d.s.Renew(background, kid, "a", short.Epoch, hour)
	refused(t, "and renews", err, fault.Fenced)
	held := d.agent(kid).Lease.Epoch
	until("a passing verb", func() error { return must2(d.s.Append(background, kid, agent.Passing(), says("on time")...)) })
	_, err = d.s.Append(background, kid, agent.Held("b", held), says("late")...)
	refused(t, "the second holder wakes up", err, fault.Fenced)
	// An expired lease that no other holder took is still its holder's.
	last := testkit.Must(d.s.Acquire(background, kid, "c", 0))(t).Lease
	d.append2(kid, agent.Held("c", last.Epoch), "mine")
	equal(t, "renewed", testkit.Must(d.s.Renew(background, kid, "c", last.Epoch, hour))(t).Epoch, last.Epoch)
	equal(t, "context", d.context(kid), "on time mine")
}

func (d *bench) append2(a id.Agent, c agent.Claim, texts ...string) {
	d.t.Helper()
	testkit.Must(d.s.Append(background, a, c, says(texts...)...))(d.t)
}

// testHolds tests that what is set aside counts in every limit above it, until it is given back.
func testHolds(t *testing.T, w *Workspace) {
	d := open(t, w)
	a := d.fork(d.zero, "a")[0].ID
	b := d.fork(a, "b")[0].ID
	side := d.fork(d.zero, "side")[0].ID
	hold := func(name string, who id.Agent, tokens, cost int64) error {
		return d.s.Reserve(background, registry.Hold{ID: name, Agent: who, Owner: "k", Worst: agent.Spending{Tokens: tokens, Cost: cost}})
	}
	short := func(err error) string {
		if s, ok := errors.AsType[registry.Short](err); ok {
			return s.Allowance.Of.Label()
		}
		return fmt.Sprint(err)
	}
	equal(t, "without limits", hold("free", b, 1<<40, 1<<40), nil)
	d.append(a, budget(100, -1))
	d.append(d.zero, budget(-1, 1000))
	equal(t, "it fits", hold("1", b, 60, 600), nil)
	equal(t, "the same again", hold("1", b, 60, 600), nil)
	equal(t, "too many tokens", short(hold("2", a, 41, 0)), "a")
	equal(t, "too much money, elsewhere", short(hold("2", side, 1, 401)), "0")
	equal(t, "beside it", hold("3", side, 1_000_000, 400), nil)
	equal(t, "held below a", testkit.Must(d.s.Held(background, a))(t), agent.Spending{Tokens: 60, Cost: 600})
	for _, l := range testkit.Must(d.s.Allowances(background, b))(t) {
		equal(t, "held of "+l.Of.Label(), l.Held, map[id.Agent]agent.Spending{a: {Tokens: 60, Cost: 600}, d.zero: {Tokens: 1_000_060, Cost: 1000}}[l.Of.ID])
	}
	d.append(b, usage(30, 300)) // what it came to, and then:
	equal(t, "given back", d.s.Settle(background, "1"), nil)
	equal(t, "twice", d.s.Settle(background, "1"), nil)
	equal(t, "what is left", short(hold("2", a, 71, 0)), "a")
	equal(t, "all that is left", hold("2", a, 70, 300), nil)
	refused(t, "an unknown agent", hold("4", id.NewAgent(), 1, 1), fault.NotFound)
	testkit.Must(d.s.Kill(background, registry.Kill{Agent: b}))(t)
	refused(t, "a dead one", hold("4", b, 0, 0), fault.DeadAgent)
}

// testSchedules lets children that share one budget call at the same time; some die in the middle.
// What the server counted is never more than the budget.
func testSchedules(t *testing.T, w *Workspace) {
	d := open(t, w)
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 7))
		limit := 500 + r.Int64N(5000)
		root := d.fork(d.zero, fmt.Sprintf("root%d", seed))[0].ID
		d.append(root, budget(limit, -1))
		var mu sync.Mutex
		served := int64(0)
		var all sync.WaitGroup
		for n := range 4 {
			kid := d.fork(root, "")[0].ID
			own := rand.New(rand.NewPCG(seed, uint64(n)))
			all.Go(func() {
				for call := range 2 {
					worst := 1 + own.Int64N(2000)
					name := fmt.Sprintf("%d.%d.%d", seed, n, call)
					err := d.s.Reserve(background, registry.Hold{ID: name, Agent: kid, Owner: "k", Worst: agent.Spending{Tokens: worst}})
					if _, ok := errors.AsType[registry.Short](err); ok {
						continue
					}
					used := own.Int64N(worst + 1)
					mu.Lock()
					served += used
					mu.Unlock()
					if err != nil || own.IntN(8) == 0 {
						continue // it dies, and what it used is not written
					}
					if _, err = d.s.Append(background, kid, agent.Passing(), usage(used, 0)); err == nil {
						err = d.s.Settle(background, name)
					}
					if err != nil {
						t.Errorf("seed %d: %v", seed, err)
					}
				}
			})
		}
		all.Wait()
		if served > limit {
			t.Errorf("seed %d: %d served, %d allowed", seed, served, limit)
		}
	}
}

// testEndings tests how an agent's own history ended, past what tells nothing of a turn, and
// what ended dead agents.
func testEndings(t *testing.T, w *Workspace) {
	d := open(t, w)
	reasoned := func(k history.Kind, reason string) history.Draft {
		return history.Draft{Kind: k, Meta: history.Meta{Reason: reason}, Parts: []history.Part{{Type: history.Text, Text: "x"}}}
	}
	asked := d.fork(d.zero, "asked")[0].ID
	d.say(asked, "go")
	failed := d.fork(d.zero, "failed")[0].ID
	d.say(failed, "go")
	d.append(failed, reasoned(history.Note, "PROVIDER_DOWN: no answer"))
	done := d.fork(d.zero, "done")[0].ID
	d.say(done, "go")
	d.append(done, reasoned(history.Note, state.Well), text(history.Note, "tells nothing"))
	born := testkit.Must(d.s.Fork(background, registry.Fork{Parent: d.zero, Children: []registry.Child{{ID: id.NewAgent(), Name: "born", Entries: says("the task")}}}))(t)[0].ID
	empty := d.fork(d.zero, "empty")[0].ID
	ended := func(name string, by id.Agent, why string) (id.Agent, id.Message) {
		a := d.fork(d.zero, name)[0].ID
		if by == "" {
			by = a
		}
		said := d.say(a, "go")
		testkit.Must(d.s.Kill(background, registry.Kill{Agent: a, By: by, Reason: why}))(t)
		return a, said[0].ID
	}
	gone, _ := ended("gone", asked, "no need")
	left, _ := ended("left", "", "my task ended")
	over, _ := ended("over", asked, state.Over)
	redacted, secret := ended("redacted", asked, "no need")
	d.redact(redacted, secret) // an entry behind its death

	living := testkit.Must(d.s.Endings(background, false))(t)
	if _, ok := living[gone]; ok || len(living) != 5 {
		t.Errorf("of the living: %v", living)
	}
	all := testkit.Must(d.s.Endings(background, true))(t)
	if _, ok := living[empty]; ok || all[empty].Kind != "" {
		t.Error("of one who said nothing there is something to tell")
	}
	for _, c := range []struct {
		who  id.Agent
		kind history.Kind
		born bool
		by   id.Agent
		why  string
	}{
		{asked, history.User, false, "", ""}, {failed, history.Note, false, "", ""}, {done, history.Note, false, "", ""},
		{born, history.User, true, "", ""}, {left, history.User, false, left, "my task ended"}, {over, history.User, false, asked, state.Over},
		{gone, "", false, asked, "no need"}, {redacted, history.User, false, asked, "no need"},
	} {
		got, ok := all[c.who]
		if !ok || got.Kind != c.kind || got.Born != c.born || got.By != c.by || got.Reason != c.why {
			t.Errorf("%s: %+v, wanted %+v", d.agent(c.who).Label(), got, c)
		}
		if one := testkit.Must(d.s.Endings(background, false, c.who))(t); len(one) != 1 || !slices.Equal(one[c.who].Meta, got.Meta) {
			t.Errorf("%s alone: %+v", d.agent(c.who).Label(), one)
		}
	}
	equal(t, "status of the dead", d.agent(gone).Status, agent.Dead)
}

// testBell tests what every listener may count on, also where nothing can ring.
func testBell(t *testing.T, w *Workspace) {
	d := open(t, w)
	ctx, cancel := context.WithCancel(background)
	rung, ended := make(chan registry.Ring, 1), make(chan error)
	go func() { ended <- d.s.Listen(ctx, func(r registry.Ring) { rung <- r }) }()
	if w.Files == nil { // a server's
		equal(t, "when it begins", <-rung, registry.Ring{})
	}
	cancel()
	equal(t, "when it ends", <-ended, nil)
	equal(t, "nothing else rang", len(rung), 0)

	over, cancel := context.WithCancel(background)
	cancel()
	equal(t, "with a context that is over", d.s.Listen(over, func(registry.Ring) {}), nil)
}
