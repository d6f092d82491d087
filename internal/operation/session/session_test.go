package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/driver"
	"ramet/internal/driver/foreign"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation/control"
	"ramet/internal/operation/public"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
	"ramet/internal/turn/permit"
)

// open is a workspace on a file, without a kernel, that must be whole at the end.
func open(t *testing.T, clean func(string) string) *Workspace {
	t.Helper()
	home := t.TempDir()
	return openIn(t, home, home, clean)
}

// openIn is open with the home and the folder of agent 0.
func openIn(t *testing.T, home, project string, clean func(string) string) *Workspace {
	t.Helper()
	db := filepath.Join(home, "ramet.db")
	s := testkit.Must(sqlite.Open(t.Context(), db, sqlite.Options{Cwd: project}))(t)
	t.Cleanup(func() {
		if _, err := s.Audit(context.Background(), nil); err != nil {
			t.Errorf("verify: %v", err)
		}
		s.Close()
	})
	w := &Workspace{Store: store.Clean(s, clean), Peers: control.At(home, db), Config: &config.Config{}, Now: time.Now}
	w.Home, w.Place.DB, w.Place.Project = home, db, project
	return w
}

// child forks an agent, which must succeed.
func child(t *testing.T, w *Workspace, parent, name string) agent.Agent {
	t.Helper()
	done := testkit.Must(w.Agents().Fork(t.Context(), Fork{Parent: found(t, w, parent), Name: name}))(t)
	return done.Child
}

func found(t *testing.T, w *Workspace, ref string) agent.Agent {
	t.Helper()
	a := testkit.Must(w.Find(t.Context(), ref))(t)
	return a
}

func count(t *testing.T, w *Workspace) int {
	t.Helper()
	all := testkit.Must(w.Store.Agents(t.Context(), agent.Filter{Dead: true}))(t)
	return len(all)
}

func TestARefusedForkLeavesNothing(t *testing.T) {
	w := open(t, nil)
	child(t, w, "0", "dead")
	testkit.Must(w.Agents().Kill(t.Context(), Kill{Agent: found(t, w, "dead")}))(t)
	before := count(t, w)
	blank, empty := " \n\t", ""
	for name, c := range map[string]struct {
		f    Fork
		code fault.Code
	}{
		"a blank prompt":           {Fork{Parent: found(t, w, "0"), Prompt: &blank}, fault.InvalidText},
		"an empty prompt":          {Fork{Parent: found(t, w, "0"), Prompt: &empty}, fault.InvalidText},
		"a bad name":               {Fork{Parent: found(t, w, "0"), Name: "A b"}, fault.InvalidName},
		"a message that is not":    {Fork{Parent: found(t, w, "0"), At: 99999}, fault.NotFound},
		"a dead parent":            {Fork{Parent: found(t, w, "dead")}, fault.DeadAgent},
		"a worktree of no project": {Fork{Parent: found(t, w, "0"), Worktree: true}, ""},
	} {
		_, err := w.Agents().Fork(t.Context(), c.f)
		if err == nil || c.code != "" && !fault.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if after := count(t, w); after != before {
		t.Errorf("%d agents, %d before", after, before)
	}
}

func TestAKillEndsAsManyAsWereConfirmed(t *testing.T) {
	w := open(t, nil)
	child(t, w, "0", "ada")
	child(t, w, "ada", "bob")
	child(t, w, "bob", "kid")
	if _, err := w.Agents().Kill(t.Context(), Kill{Agent: found(t, w, "bob")}); err != nil { // the kid lives on
		t.Fatal(err)
	}
	all := true
	ada := Kill{Agent: found(t, w, "ada"), Cascade: &all}
	if n, _, err := w.Agents().Victims(t.Context(), ada); err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	wrong := 3
	ada.Confirm = &wrong
	_, err := w.Agents().Kill(t.Context(), ada)
	if m, ok := errors.AsType[Miscounted](err); !ok || m.N != 2 || !fault.Is(err, fault.Conflict) {
		t.Fatalf("%v", err)
	}
	right := 2
	ada.Confirm = &right
	done, err := w.Agents().Kill(t.Context(), ada)
	if err != nil || len(done.Victims) != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, _, err := w.Agents().Victims(t.Context(), Kill{Agent: found(t, w, "0")}); !fault.Is(err, fault.AgentZero) {
		t.Errorf("agent 0: %v", err)
	}
}

// A command of an agent acts on the agent and those below it, and speaks in its name.
func TestWhatACommandOfAnAgentMayDo(t *testing.T) {
	w := open(t, nil)
	for _, pair := range [][2]string{{"0", "up"}, {"up", "me"}, {"me", "kid"}, {"kid", "grandkid"}, {"up", "sibling"}} {
		child(t, w, pair[0], pair[1])
	}
	w.own = found(t, w, "me").ID
	ctx := t.Context()
	prompt := "do it"
	verbs := map[string]func(agent.Agent) error{
		"append user":   func(a agent.Agent) error { _, err := w.History().Append(ctx, a, history.User, "x"); return err },
		"append system": func(a agent.Agent) error { _, err := w.History().Append(ctx, a, history.System, "x"); return err },
		"append note":   func(a agent.Agent) error { _, err := w.History().Append(ctx, a, history.Note, "x"); return err },
		"mark":          func(a agent.Agent) error { _, err := w.History().Mark(ctx, a, "m"); return err },
		"rewind":        func(a agent.Agent) error { _, err := w.History().Rewind(ctx, a, "m"); return err },
		"fork": func(a agent.Agent) error {
			_, err := w.Agents().Fork(ctx, Fork{Parent: a, Prompt: &prompt})
			return err
		},
		"read": func(a agent.Agent) error { _, _, err := w.Mail().Read(ctx, a, 0); return err },
		"send from": func(a agent.Agent) error {
			_, err := w.Mail().Send(ctx, Letter{From: &a, To: a, Body: "x"})
			return err
		},
		"prompt": func(a agent.Agent) error { return w.mayPrompt(ctx, a.ID) },
		"redact": func(a agent.Agent) error { return w.History().Redact(ctx, a, 1) },
		"clear":  func(a agent.Agent) error { return failed(w.History().Clear(ctx, a)) },
		"effort": func(a agent.Agent) error { return w.Models().SetEffort(ctx, a, "high") },
		"rename": func(a agent.Agent) error { return failed(w.Agents().Rename(ctx, a, cmp.Or(a.Name, "zero"))) },
		"wait":   func(a agent.Agent) error { return failed(w.Turns().Wait(ctx, Wait{Mail: &a}, 0)) },
		"delete a letter": func(a agent.Agent) error {
			sent, err := w.Mail().Send(ctx, Letter{To: a, Body: "x"})
			if err != nil {
				return err
			}
			return w.Mail().Hide(ctx, a.ID, sent.Number)
		},
		"merge":           func(a agent.Agent) error { return w.Files().mayTree(ctx, "merge the work of", Tree{Owner: &a}) },
		"remove worktree": func(a agent.Agent) error { return w.Files().mayTree(ctx, "remove the worktree of", Tree{Owner: &a}) },
	}
	never := map[string]bool{"append user": true, "append system": true, "redact": true}
	for verb, do := range map[string]func(agent.Agent) error{
		"mode":           func(a agent.Agent) error { return w.Turns().SetMode(ctx, a, permit.Ask) },
		"program's mode": func(a agent.Agent) error { return w.Turns().orderMode(ctx, a, driver.ModeEntry("claude", "plan")) },
		"continue":       func(agent.Agent) error { return failed(w.Turns().ContinueAll(ctx, nil)) },
		"show trash":     func(agent.Agent) error { return failed(w.Care().ShowTrash(ctx)) },
		"restore trash":  func(agent.Agent) error { return failed(w.Care().RestoreTrash(ctx, "x", "")) },
		"empty trash":    func(agent.Agent) error { return failed(w.Care().EmptyTrash(ctx, Emptying{})) },
		"drop states":    func(agent.Agent) error { return failed(w.Care().GCFiles(ctx, Sweep{})) },
		"drop trees":     func(agent.Agent) error { return failed(w.Care().SweepTrees(ctx, false)) },
		"drop caches":    func(agent.Agent) error { return failed(w.Care().SweepCaches(ctx, time.Now(), false)) },
		"import":         func(agent.Agent) error { return failed((&Imports{ws: w}).Take(ctx, foreign.Found{}, false)) },
		"remove a tree":  func(agent.Agent) error { return failed(w.Files().RemoveTree(ctx, Tree{}, false)) },
	} {
		verbs[verb], never[verb] = do, true
	}
	for _, c := range []struct {
		who string
		may bool
	}{{"0", false}, {"up", false}, {"sibling", false}, {"me", true}, {"kid", true}, {"grandkid", true}} {
		for _, verb := range slices.Sorted(maps.Keys(verbs)) {
			err := verbs[verb](found(t, w, c.who))
			may := c.may && !never[verb] && !(verb == "prompt" && c.who == "me")
			if may != (err == nil) || err != nil && !fault.Is(err, fault.Denied) {
				t.Errorf("%s %s: %v", verb, c.who, err)
			}
		}
	}
	if _, err := w.Agents().Kill(ctx, Kill{Agent: found(t, w, "sibling")}); !fault.Is(err, fault.Denied) {
		t.Errorf("kill of a sibling: %v", err)
	}
	if _, err := w.Turns().Compact(ctx, found(t, w, "sibling"), llm.Ref{}); !fault.Is(err, fault.Denied) {
		t.Errorf("compact of a sibling: %v", err)
	}
	if _, err := w.Agents().Kill(ctx, Kill{Agent: found(t, w, "grandkid")}); err != nil {
		t.Errorf("kill of one below: %v", err)
	}
	sent, err := w.Mail().Send(ctx, Letter{To: found(t, w, "0"), Body: "hello"})
	if err != nil || sent.From != w.own {
		t.Errorf("a letter of %q: %v", sent.From, err)
	}
}

// Decisions about a dead agent are refused.
func TestTheDeadAreNotChanged(t *testing.T) {
	w, ctx := open(t, nil), t.Context()
	a := child(t, w, "0", "ada")
	testkit.Must(w.Agents().Kill(ctx, Kill{Agent: a}))(t)
	a.Status = agent.Dead
	for verb, err := range map[string]error{
		"effort":         w.Models().SetEffort(ctx, a, "high"),
		"mode":           w.Turns().SetMode(ctx, a, permit.Ask),
		"program's mode": w.Turns().orderMode(ctx, a, driver.ModeEntry("claude", "plan")),
		"fork":           failed(w.Agents().Fork(ctx, Fork{Parent: a})),
		"begin":          failed(w.Turns().Begin(ctx, a, kernel.Prompt{Text: "go"})),
		"compact":        failed(w.Turns().Compact(ctx, a, llm.Ref{})),
		"append":         failed(w.History().Append(ctx, a, history.User, "x")),
		"rename":         failed(w.Agents().Rename(ctx, a, "bob")),
	} {
		if !fault.Is(err, fault.DeadAgent) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// While calls of an agent run elsewhere, it is forked at what it said before them.
func TestForkedBesideItsHolder(t *testing.T) {
	w := open(t, nil)
	ctx := t.Context()
	ada := child(t, w, "0", "ada")
	point := testkit.Must(w.History().Append(ctx, ada, history.User, "the point"))(t)
	held := testkit.Must(w.Store.Acquire(ctx, ada.ID, "elsewhere:1:000000000000", time.Minute))(t)
	calls := history.Draft{Kind: history.Assistant, Parts: []history.Part{{Type: history.ToolCall, CallID: "c", Name: "bash", Args: []byte(`{}`)}}}
	entries := testkit.Must(w.Store.Append(ctx, ada.ID, agent.Held(held.Lease.Owner, held.Lease.Epoch), calls))(t)
	testkit.OK(t, w.Store.KeepReplies(ctx, []registry.Reply{{Agent: ada.ID, Claim: agent.Held(held.Lease.Owner, held.Lease.Epoch), After: entries[0].ID, Text: "shown"}}))
	if last, err := history.LastFinal(ctx, w.Store, ada.ID); err != nil || last != point.ID {
		t.Errorf("last final entry %d, %v, want %d", last, err, point.ID)
	}
	kid := child(t, w, "ada", "kid")
	c, err := history.Replay(ctx, w.Store, kid.ID)
	if err != nil || len(c.Messages) == 0 || c.Messages[len(c.Messages)-1].ID != point.ID {
		t.Fatalf("context %+v, %v", c, err)
	}
	if now := found(t, w, "ada"); now.Lease.Owner != held.Lease.Owner || now.Lease.Epoch != held.Lease.Epoch {
		t.Errorf("the lease is %+v", now.Lease)
	}
	if reply, ok, err := w.Store.Reply(ctx, ada.ID); err != nil || !ok || reply.Text != "shown" {
		t.Errorf("what the holder showed is lost: %+v, %v, %v", reply, ok, err)
	}
	result := history.Draft{Kind: history.ToolResult, Parts: []history.Part{{Type: history.Result, CallID: "c", Name: "bash", Text: "done"}}}
	if _, err := w.Store.Append(ctx, ada.ID, agent.Held(held.Lease.Owner, held.Lease.Epoch), result); err != nil {
		t.Errorf("the holder is shut out: %v", err)
	}
	head := found(t, w, "ada").Head
	if last, err := history.LastFinal(ctx, w.Store, ada.ID); err != nil || last != head {
		t.Errorf("last final entry %d, %v, want %d", last, err, head)
	}
}

func TestNoCredentialIsStored(t *testing.T) {
	w := open(t, replaceKey)
	ctx := t.Context()
	said := "my key is sesame, keep it"
	ada := testkit.Must(w.Agents().Fork(ctx, Fork{Parent: found(t, w, "0"), Name: "ada", Prompt: &said}))(t)
	if _, err := w.Agents().Fork(ctx, Fork{Parent: found(t, w, "0"), Name: "sesame"}); !fault.Is(err, fault.InvalidName) {
		t.Errorf("a name: %v", err)
	}
	if l, err := w.Mail().Send(ctx, Letter{To: ada.Child, Body: said}); err != nil || l.Body != replaceKey(said) {
		t.Errorf("%q, %v", l.Body, err)
	}
	testkit.Must(w.History().Mark(ctx, ada.Child, "at sesame"))(t)
	for e, err := range w.Store.QueryRange(ctx, history.Range{Agent: ada.Child.ID, End: history.NoLimit}, history.Selection{}) {
		testkit.OK(t, err)
		if text := string(e.Content) + string(e.Meta); text != replaceKey(text) {
			t.Errorf("entry %d: %s", e.ID, text)
		}
	}
}

func replaceKey(s string) string { return strings.ReplaceAll(s, "sesame", "[hidden]") }

// Stopped ends the kernel of this process once.
func TestStoppedEndsTheKernel(t *testing.T) {
	w := open(t, nil)
	stopped := 0
	w.stop = func() { stopped++ }
	w.Stopped()
	w.Stopped()
	if stopped != 1 || w.Kernel != nil {
		t.Errorf("stopped %d times, kernel %v", stopped, w.Kernel)
	}
}

// Closing a workspace ends its kernel before it closes the store, so that a turn can still write how it ended.
func TestCloseEndsTheKernelBeforeTheStore(t *testing.T) {
	s := testkit.Must(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ramet.db"), sqlite.Options{Cwd: t.TempDir()}))(t)
	w := &Workspace{Store: store.Clean(s, nil), Peers: control.Folder{}, Config: &config.Config{}, Now: time.Now}
	stopped := false
	w.stop = func() {
		if _, err := s.Agents(t.Context(), agent.Filter{}); err != nil {
			t.Errorf("the store was closed first: %v", err)
		}
		stopped = true
	}
	if err := w.close(); err != nil || !stopped {
		t.Errorf("kernel stopped: %v, %v", stopped, err)
	}
}

// No verb of a workspace says that it has succeeded when a statement of it failed.
func TestNoVerbSucceedsWithAFailedStatement(t *testing.T) {
	w := open(t, nil)
	child(t, w, "0", "ada")
	child(t, w, "ada", "bob")
	ada, bob := found(t, w, "ada"), found(t, w, "bob")
	ctx := t.Context()
	said := testkit.Must(w.History().Append(ctx, ada, history.User, "hello"+strings.Repeat(" there", history.BlobCutoff)))(t)
	prompt, all, zero := "go", true, found(t, w, "0")
	// Transcript comes before there are states of files: it says which it could not compare.
	// Send is not in the table: what it does after its letter is written may fail. Neither is Overview, which leaves
	// out what it cannot find out.
	testkit.Must(w.Mail().Send(ctx, Letter{From: &bob, To: ada, Body: "a letter"}))(t)
	for _, c := range []struct {
		name string
		verb func() error
	}{
		{"Transcript", func() error { return failed(w.History().Transcript(ctx, ada, Exporting{})) }},
		{"Append", func() error { return failed(w.History().Append(ctx, ada, history.User, "again")) }},
		{"Mark", func() error { return failed(w.History().Mark(ctx, ada, "label")) }},
		{"Rewind", func() error { return failed(w.History().Rewind(ctx, ada, "label")) }},
		{"RewindTo", func() error { return failed(w.History().RewindTo(ctx, ada, said.ID)) }},
		{"Fork", func() error {
			return failed(w.Agents().Fork(ctx, Fork{Parent: ada, Name: "kid", Prompt: &prompt, At: said.ID}))
		}},
		{"Newest", func() error { return failed(w.Mail().Newest(ctx, ada.ID)) }},
		{"Unread", func() error { return failed(w.Mail().Unread(ctx, ada.ID, 0)) }},
		{"Peek", func() error { _, _, err := w.Mail().Peek(ctx, ada, 1); return err }},
		{"Read", func() error { _, _, err := w.Mail().Read(ctx, ada, 0); return err }},
		{"Hide", func() error { return w.Mail().Hide(ctx, ada.ID, 1) }},
		{"Find", func() error { return failed(w.Find(ctx, "ada")) }},
		{"Find by id", func() error { return failed(w.Find(ctx, string(ada.ID)[:8])) }},
		{"List", func() error { return failed(w.Agents().List(ctx, true, false)) }},
		{"Everybody", func() error { return failed(w.Agents().Everybody(ctx)) }},
		{"States", func() error { return failed(w.Agents().States(ctx, true)) }},
		{"State", func() error { return failed(w.Agents().State(ctx, ada)) }},
		{"Page", func() error { return failed(w.History().Page(ctx, bob.ID, Span{Limit: 10})) }},
		{"Page after", func() error { return failed(w.History().Page(ctx, ada.ID, Span{After: said.ID})) }},
		{"Timeline", func() error { return failed(w.History().Timeline(ctx, ada.ID)) }},
		{"Labels", func() error { return failed(w.Agents().Labels(ctx, ada.ID)) }},
		{"Lineage", func() error { return failed(w.Agents().Lineage(ctx)) }},
		{"Search", func() error { return failed(w.History().Search(ctx, Search{Words: "hello", Limit: 5})) }},
		{"Search of one", func() error { return failed(w.History().Search(ctx, Search{Words: "hello", Of: bob.ID, Limit: 5})) }},
		{"WriteSession", func() error { return failed(w.History().WriteSession(ctx, ada, "claude", io.Discard)) }},
		{"Changed", func() error { return failed(w.Files().Changed(ctx, ada.ID)) }},
		{"fingerprint", func() error { return failed(w.Turns().fingerprint(ctx)) }},
		{"Standing", func() error { return failed(w.Turns().Standing(ctx, ada)) }},
		{"ShowStates", func() error { return failed(w.Files().ShowStates(ctx, ada)) }},
		{"Imports", func() error { return failed(w.History().Imports(ctx)) }},
		{"SweepBlobs", func() error { return failed(w.Care().SweepBlobs(ctx, true)) }},
		{"Victims", func() error { _, _, err := w.Agents().Victims(ctx, Kill{Agent: ada, Cascade: &all}); return err }},
		{"Wait", func() error { return failed(w.Turns().Wait(ctx, Wait{Agents: []agent.Agent{ada}, Mail: &bob}, 0)) }},
		{"Stop", func() error { return failed(w.Turns().Stop(ctx, kernel.Stop{Agent: ada.ID})) }},
		{"Leave", func() error { return failed(w.Turns().Leave(As(ctx, bob.ID), "")) }},
		{"mayPrompt", func() error { return w.mayPrompt(As(ctx, ada.ID), bob.ID) }},
		{"Unlimited", func() error { return w.Unlimited(As(ctx, ada.ID), "x") }},
		{"KillFinished", func() error { return failed(w.Agents().KillFinished(ctx)) }},
		{"ContinueAll", func() error { return failed(w.Turns().ContinueAll(ctx, nil)) }},
		{"SetEffort", func() error { return w.Models().SetEffort(ctx, ada, "high") }},
		{"Effort", func() error { return failed(w.Models().Effort(ctx, ada)) }},
		{"SetMode", func() error { return w.Turns().SetMode(ctx, ada, permit.Ask) }},
		{"Fork by itself", func() error { return failed(w.Agents().Fork(As(ctx, ada.ID), Fork{Parent: ada, Prompt: &prompt})) }},
		{"RecoverFiles", func() error { return failed(w.Files().draftState(ctx, zero)) }},
		{"Rename", func() error { return failed(w.Agents().Rename(ctx, bob, "bill")) }},
		{"Redact", func() error { return w.History().Redact(ctx, ada, said.ID) }},
		{"Clear", func() error { return failed(w.History().Clear(ctx, ada)) }},
		{"Kill", func() error { return failed(w.Agents().Kill(ctx, Kill{Agent: bob})) }},
	} {
		storetest.FailEachStatement(t, &sqlite.Before, c.name, c.verb)
	}
}

// failed returns the error of a call.
func failed[T any](_ T, err error) error { return err }

// A page after an entry has what follows it, oldest first, and the beginning of what is too long to show.
func TestAPageAfterAnEntryIsInOrder(t *testing.T) {
	w := open(t, nil)
	zero := found(t, w, "0")
	var all []id.Message
	for _, text := range []string{"one", "two", strings.Repeat("x", maxShown) + "three"} {
		e := testkit.Must(w.History().Append(t.Context(), zero, history.User, text))(t)
		all = append(all, e.ID)
	}
	p, err := w.History().Page(t.Context(), zero.ID, Span{After: all[0]})
	if err != nil || len(p.Entries) != 2 || p.Entries[0].ID != all[1] || p.Entries[1].ID != all[2] || p.Head != all[2] {
		t.Fatalf("%+v %v, want %v", p, err, all[1:])
	}
	short, long := p.Entries[0].Parts[0], p.Entries[1].Parts[0]
	if short.Text != "two" || short.Size != 0 || len(long.Text) != maxShown || long.Size != int64(len("three")) {
		t.Errorf("%q and %d bytes of %d more", short.Text, len(long.Text), long.Size)
	}
}

// What a program that drives an agent offers can be chosen by the program's own word, or as NAME:WORD where ramet has
// the same word.
func TestWhatAProgramOffersIsChosen(t *testing.T) {
	w, ctx := open(t, nil), t.Context()
	made := testkit.Must(w.Agents().Fork(ctx, Fork{Parent: found(t, w, "0"), Name: "ada", Model: driver.Ref("claude", "")}))(t)
	ada, zero := made.Child, found(t, w, "0")
	choose := func(a agent.Agent, word, hint string, code fault.Code) {
		t.Helper()
		err := w.Programs().ChooseMode(ctx, a, word)
		if f, _ := fault.Of(err); code != "" && (!fault.Is(err, code) || !strings.Contains(f.Hint, hint)) || code == "" && err != nil {
			t.Errorf("%s: %v, want %q with %q", word, err, code, hint)
		}
	}
	program := func() string {
		t.Helper()
		p, err := w.Programs().Program(ctx, ada)
		if err != nil || p == nil || p.Mode == nil || p.Boxed == nil {
			t.Fatalf("%+v, %v", p, err)
		}
		return fmt.Sprint(p.Driver, " ", *p.Mode, " ", *p.Boxed, " ", len(p.Modes), len(p.Models), len(p.Efforts), len(p.Commands))
	}
	preset := testkit.Must(driver.FindPreset("claude", nil))(t)
	if got, want := program(), fmt.Sprint("claude ", preset.Mode, " false 0 0 0 0"); got != want {
		t.Errorf("before it ran: %s, want %s", got, want)
	}
	choose(ada, "claude:own", "when it has run once", fault.InvalidField)
	own, both := driver.Choice{Word: "own", Title: "Own"}, driver.Choice{Word: string(permit.Ask)}
	models := []driver.Choice{{Word: "big", Title: "Big"}, {Word: "two words"}}
	testkit.OK(t, w.Programs().Offers().Keep("claude", driver.Offer{Version: "1", Modes: []driver.Choice{own, both}, Models: models,
		Commands: []driver.Choice{{Word: "review", About: "Review"}, {Word: "compact", About: "Compact", Hint: "what"}}}))
	choose(ada, "claude:none", "claude has own, ask", fault.InvalidField)
	choose(ada, "none", "", fault.InvalidField)
	choose(zero, "own", "", fault.InvalidField)
	choose(zero, ":own", "", fault.InvalidField)
	choose(ada, "own", "", "")
	if got := program(); got != "claude own true 2 2 0 2" {
		t.Errorf("with its own mode: %s", got)
	}
	choose(ada, string(permit.Ask), "", "") // ramet's, not the program's
	if got := program(); got != "claude own true 2 2 0 2" {
		t.Errorf("with ramet's mode of the same name: %s", got)
	}
	choose(ada, "claude:"+string(permit.Ask), "", "")
	if got := program(); !strings.HasPrefix(got, "claude ask ") {
		t.Errorf("with its own mode of the same name: %s", got)
	}
	if p, err := w.Programs().Program(ctx, zero); p != nil || err != nil || w.Programs().ProgramCommands(zero) != nil {
		t.Errorf("agent 0: %+v, %v", p, err)
	}
	listed := ""
	for _, c := range w.Programs().ProgramCommands(ada) {
		listed += fmt.Sprintf("%s (%s, %s) ", c.Name, c.Description, c.Hint)
	}
	if listed != "review (Review, ) claude:compact (Compact, what) " {
		t.Errorf("commands %s", listed)
	}
	w.system.Drivers = func(context.Context, *Workspace, bool) public.Drivers {
		return public.Drivers{Drivers: []public.Driver{{Name: "claude", Title: "C", State: "ready"}, {Name: "codex", Title: "X", State: "found"}, {Name: "goose", State: "absent"}}}
	}
	listed = ""
	for _, m := range w.Programs().programModels(ctx) {
		listed += fmt.Sprintf("%s (%s) ", m.Ref, m.Title)
	}
	if listed != "driver/claude (C (drives the agent)) driver/claude/big (C: Big) driver/codex (X (drives the agent)) " {
		t.Errorf("models %s", listed)
	}
	storetest.FailEachStatement(t, &sqlite.Before, "Program", func() error { return failed(w.Programs().Program(ctx, ada)) })
	storetest.FailEachStatement(t, &sqlite.Before, "DrivenOf", func() error { return failed(w.Programs().DrivenOf(ctx, ada)) })
	storetest.FailEachStatement(t, &sqlite.Before, "ChooseMode", func() error { return w.Programs().ChooseMode(ctx, ada, "own") })
}
