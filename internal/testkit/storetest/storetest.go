package storetest

import (
	"context"
	"database/sql"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
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
