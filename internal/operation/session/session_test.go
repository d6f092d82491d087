package session

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/driver"
	"ramet/internal/driver/foreign"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation/control"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
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
