package session

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/secret"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/operation/public"
	"ramet/internal/testkit"
)

// What a restore could not bring back is in the trash: it is listed, moved back without overwriting anything, and
// deleted by age and size.
func TestTheTrashOfAWorkspace(t *testing.T) {
	x := newWorker(t)
	w, ctx := x.w, t.Context()
	w.Secrets = secret.New(map[string]string{"KEY": "sesame-sesame-sesame"})
	x.put("a", "1")
	x.put("b", "1")
	asked, _ := x.turn(0, func(put func(path, text string)) { put("a", "2") })
	fill := func() {
		t.Helper()
		x.put("a", "sesame-sesame-sesame")
		x.put("b", "longer: sesame-sesame-sesame")
		done, err := w.Files().Restore(ctx, Restoring{Agent: x.a, At: asked, Force: true})
		if err != nil || len(done.Trashed) != 2 || x.tree()["a"] != "1" || x.tree()["b"] != "1" {
			t.Fatalf("trashed %v, %v, %v", done.Trashed, x.tree(), err)
		}
	}
	list := func(want int) public.Trash {
		t.Helper()
		all, err := w.Care().ShowTrash(ctx)
		sum := int64(0)
		for _, one := range all.Items {
			sum += one.Size
		}
		if err != nil || len(all.Items) != want || all.Bytes != sum {
			t.Fatalf("%+v, %v, want %d items", all, err, want)
		}
		return all
	}
	list(0)
	fill()
	items := list(2).Items
	for _, one := range items {
		if one.Kind != "file" || one.Act != "restore" || one.Agent == nil || *one.Agent != string(x.a.ID) || filepath.Dir(one.Path) != x.dir {
			t.Errorf("%+v", one)
		}
	}
	if _, err := w.Care().RestoreTrash(ctx, items[0].ID, ""); !fault.Is(err, fault.Conflict) || len(list(2).Items) != 2 {
		t.Errorf("over a file: %v", err)
	}
	act, _, _ := strings.Cut(items[0].ID, ".")
	if _, err := w.Care().RestoreTrash(ctx, act, filepath.Join(x.dir, "both")); !fault.Is(err, fault.Usage) {
		t.Errorf("two to one path: %v", err)
	}
	if _, err := w.Care().RestoreTrash(ctx, "nope", ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("nothing: %v", err)
	}
	to := filepath.Join(x.dir, "again")
	if back, err := w.Care().RestoreTrash(ctx, items[0].ID, to); err != nil || len(back.Restored) != 1 || back.Restored[0].To != to || !strings.Contains(x.tree()["again"], "sesame") {
		t.Errorf("%+v, %v", back, err)
	}
	x.put("a", "")
	x.put("b", "")
	if back, err := w.Care().RestoreTrash(ctx, act, ""); err != nil || len(back.Restored) != 1 {
		t.Errorf("the rest of the act: %+v, %v", back, err)
	}
	list(0)
	x.put("again", "")
	fill()
	fill()
	small := int64(len("sesame-sesame-sesame"))
	for _, c := range []struct {
		e    Emptying
		gone int
	}{
		{Emptying{Plan: true}, 4}, {Emptying{Before: time.Now().Add(-time.Hour)}, 0}, {Emptying{Over: small + 100}, 0}, {Emptying{Over: small}, 2},
		{Emptying{Before: time.Now().Add(time.Hour), Plan: true}, 2}, {Emptying{Before: time.Now().Add(time.Hour)}, 2}, {Emptying{}, 0},
	} {
		before := testkit.Must(w.Care().ShowTrash(ctx))(t)
		got, err := w.Care().EmptyTrash(ctx, c.e)
		if err != nil || len(got.Items) != c.gone || got.Plan != c.e.Plan || (got.Bytes > 0) != (c.gone > 0) {
			t.Errorf("%+v: %+v, %v, want %d", c.e, got, err, c.gone)
		}
		if c.e.Plan {
			c.gone = 0
		}
		list(len(before.Items) - c.gone)
	}
	by := As(ctx, x.a.ID)
	for name, err := range map[string]error{"list": failed(w.Care().ShowTrash(by)), "restore": failed(w.Care().RestoreTrash(by, "x", "")), "empty": failed(w.Care().EmptyTrash(by, Emptying{}))} {
		if !fault.Is(err, fault.Denied) {
			t.Errorf("%s by an agent: %v", name, err)
		}
	}
}

// Only agents that can be reached are stopped: not one at rest, nor one of another host, which a file cannot ring.
func TestStoppingWhatDoesNotRunHere(t *testing.T) {
	w := open(t, nil)
	ctx, zero := t.Context(), found(t, w, "0")
	if stopped, err := w.Turns().Stop(ctx, kernel.Stop{Agent: zero.ID}); err != nil || stopped {
		t.Errorf("at rest: %t, %v", stopped, err)
	}
	if stopped, err := w.Turns().Stop(ctx, kernel.Stop{Agent: zero.ID, Ticket: "x"}); err != nil || stopped {
		t.Errorf("a prompt that is nowhere: %t, %v", stopped, err)
	}
	held := testkit.Must(w.Store.Acquire(ctx, zero.ID, "elsewhere:1:000000000000", time.Hour))(t)
	if stopped, err := w.Turns().Stop(ctx, kernel.Stop{Agent: zero.ID}); !fault.Is(err, fault.Leased) || stopped || !strings.Contains(err.Error(), held.Lease.Owner) {
		t.Errorf("elsewhere: %t, %v", stopped, err)
	}
	if stopped, err := w.Turns().stopFar(ctx, zero.ID, "another:1:000000000000"); err != nil || stopped {
		t.Errorf("let go meanwhile: %t, %v", stopped, err)
	}
	testkit.OK(t, w.Store.Release(ctx, zero.ID, held.Lease.Owner, held.Lease.Epoch))
	testkit.Must(w.Store.Acquire(ctx, zero.ID, deadOwner(t, w), time.Hour))(t)
	if stopped, err := w.Turns().Stop(ctx, kernel.Stop{Agent: zero.ID}); err != nil || stopped {
		t.Errorf("its owner is gone: %t, %v", stopped, err)
	}
}

// An agent that leaves tells its parent, and is dead afterwards; its children live on.
func TestAnAgentLeaves(t *testing.T) {
	w := open(t, nil)
	ctx := t.Context()
	child(t, w, "0", "ada")
	child(t, w, "ada", "kid")
	zero, ada := found(t, w, "0"), found(t, w, "ada")
	for name, c := range map[string]struct {
		ctx    context.Context
		result string
		code   fault.Code
	}{
		"a person": {ctx, "x", fault.Usage}, "agent 0": {As(ctx, zero.ID), "x", fault.AgentZero}, "too long": {As(ctx, ada.ID), strings.Repeat("x", mail.MaxBody+1), fault.InvalidText},
	} {
		if end, err := w.Turns().Leave(c.ctx, c.result); !fault.Is(err, c.code) || end != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	end := testkit.Must(w.Turns().Leave(As(ctx, ada.ID), "the result"))(t)
	letters, err := w.Store.Letters(ctx, zero.ID, mail.Filter{})
	if err != nil || len(letters) != 1 || letters[0].Body != "the result" || letters[0].From != ada.ID || found(t, w, "ada").Status != agent.Running {
		t.Errorf("%+v, %v", letters, err)
	}
	end()
	if now, err := w.Store.Agent(ctx, ada.ID); err != nil || now.Status != agent.Dead || found(t, w, "kid").Status != agent.Running {
		t.Errorf("%+v, %v", now, err)
	}
	if _, err := w.Turns().Leave(As(ctx, ada.ID), ""); !fault.Is(err, fault.DeadAgent) {
		t.Errorf("the dead: %v", err)
	}
	kid := found(t, w, "kid")
	end = testkit.Must(w.Turns().Leave(As(ctx, kid.ID), "its parent is dead"))(t)
	end()
}

// The limits of an agent hold for its commands: it can do what a tool is left for, and prompt none that has more.
func TestLimitsOfAnAgentHoldForItsCommands(t *testing.T) {
	w := open(t, nil)
	ctx, prompt := t.Context(), "do it"
	limited := func(name string, tools ...string) (a, free agent.Agent) {
		a, free = child(t, w, "0", name), child(t, w, name, "")
		testkit.Must(w.Store.Append(ctx, a.ID, agent.Passing(), registry.LimitEntry(history.Limit{By: "agent " + name, Tools: tools})))(t)
		return a, free
	}
	for _, c := range []struct {
		name                               string
		tools                              []string
		fork, send, kill, prompt, wordsAny bool
	}{
		{"none", nil, false, false, false, false, false},
		{"forks", []string{"fork"}, true, false, false, true, false},
		{"sends", []string{"send"}, false, true, false, true, true},
		{"kills", []string{"kill", "fork"}, true, false, true, true, false},
	} {
		a, free := limited(c.name, c.tools...) // free was born before the limit
		inherits := child(t, w, c.name, "")
		by := As(ctx, a.ID)
		for verb, one := range map[string]struct {
			err error
			may bool
		}{
			"fork":      {failed(w.Agents().Fork(by, Fork{Parent: a, Prompt: &prompt})), c.fork},
			"send":      {failed(w.Mail().Send(by, Letter{To: inherits, Body: "x"})), c.send},
			"prompt":    {w.mayPrompt(by, inherits.ID), c.prompt},
			"prompt it": {w.mayPrompt(by, free.ID), c.wordsAny},
			"unlimited": {w.Unlimited(by, "x"), false},
			"admitted":  {failed(w.Admit(by, "x", false, "kill")), c.kill},
			"any":       {failed(w.Admit(by, "x", false, "")), true},
			"persons":   {failed(w.Admit(by, "x", true, "")), false},
			"kill":      {failed(w.Agents().Kill(by, Kill{Agent: free})), c.kill},
		} {
			if one.may != (one.err == nil) || one.err != nil && !fault.Is(one.err, fault.Denied) {
				t.Errorf("%s may %s: %t, %v", c.name, verb, one.may, one.err)
			}
		}
	}
	if err := w.Unlimited(ctx, "x"); err != nil {
		t.Errorf("a person: %v", err)
	}
	if who, err := w.Admit(ctx, "x", true, "kill"); err != nil || who != "" {
		t.Errorf("a person: %q, %v", who, err)
	}
}

// Files that a prompt names with an @ go with it if they are images or documents; a prompt of a page names only those
// in the agent's folder.
func TestFilesThatAPromptNames(t *testing.T) {
	x := newWorker(t)
	dot := testkit.Must(base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="))(t)
	other := filepath.Join(t.TempDir(), "other.png")
	testkit.OK(t, os.WriteFile(other, dot, 0o600))
	x.put("dot.png", string(dot))
	x.put("with space.png", string(dot))
	x.put("d/in.png", string(dot))
	x.put("text.txt", "words")
	x.put(".hidden", "h")
	x.put("node_modules/m", "m")
	testkit.OK(t, os.Symlink(other, filepath.Join(x.dir, "link.png")))
	for said, want := range map[string][2]string{ // anywhere; only in the folder
		"no mention":                {},
		"see @dot.png":              {"dot.png", "dot.png"},
		"see @dot.png, please":      {"dot.png", "dot.png"},
		"(@dot.png)":                {"dot.png", "dot.png"},
		"me@dot.png":                {},
		`see @"with space.png" now`: {"with space.png", "with space.png"},
		`see @"with space.png`:      {},
		"@d/in.png\n@dot.png":       {"in.png dot.png", "in.png dot.png"},
		"@text.txt @missing @ @d":   {},
		"@link.png":                 {"link.png", ""},
		"@" + other:                 {"other.png", ""},
		"@../" + filepath.Base(x.dir) + "/dot.png": {"dot.png", "dot.png"},
	} {
		for i, anywhere := range []bool{true, false} {
			parts, err := x.w.Prompts().mentioned(t.Context(), x.a.ID, said, anywhere)
			var names []string
			for _, p := range parts {
				names = append(names, p.Name)
			}
			if got := strings.Join(names, " "); err != nil || got != want[i] {
				t.Errorf("%q, anywhere %t: %q, %v, want %q", said, anywhere, got, err, want[i])
			}
		}
	}
	if parts, err := x.w.Prompts().mentioned(As(t.Context(), x.a.ID), x.a.ID, "@dot.png", true); err != nil || parts != nil {
		t.Errorf("an agent attached %v, %v", parts, err)
	}
	spaced := filepath.Join(x.dir, "with space.png")
	for text, want := range map[string]string{
		other: "@" + other + " ", " " + other + "\n": "@" + other + " ", "'" + other + "'": "@" + other + " ", "file://" + other: "@" + other + " ",
		strings.ReplaceAll(spaced, " ", `\ `): `@"` + spaced + `" `, spaced: `@"` + spaced + `" `, `"` + spaced + `"`: `@"` + spaced + `" `,
		"": "", "dot.png": "dot.png", other + "\n" + other: other + "\n" + other, filepath.Join(x.dir, "text.txt"): filepath.Join(x.dir, "text.txt"), "''": "''",
	} {
		if got := ReplacePasted(text); got != want {
			t.Errorf("pasted %q: %q, want %q", text, got, want)
		}
	}
	many := slices.Repeat([]string{other}, mostAttached)
	if parts, err := Attach(many...); err != nil || len(parts) != mostAttached {
		t.Errorf("%d, %v", len(parts), err)
	}
	for name, err := range map[string]error{"too many": failed(Attach(append(many, other)...)), "a folder": failed(Attach(x.dir)), "nothing": failed(Attach(other + "x")), "text": failed(Attach(filepath.Join(x.dir, "text.txt")))} {
		if err == nil {
			t.Errorf("%s is attached", name)
		}
	}
	want := []string{"d/", "d/in.png", "dot.png", "link.png", "text.txt", "with space.png"}
	if got := x.w.Prompts().CompletePaths(t.Context(), x.a.ID, ""); !slices.Equal(got, want) {
		t.Errorf("paths %q, want %q", got, want)
	}
	x.put("new", "x")
	if got := x.w.Prompts().CompletePaths(t.Context(), x.a.ID, ""); !slices.Equal(got, want) {
		t.Errorf("within a moment the paths are not remembered: %q", got)
	}
	below := testkit.Must(x.w.Agents().Fork(t.Context(), Fork{Parent: x.a, Cwd: filepath.Join(x.dir, "d")}))(t)
	if got := x.w.Prompts().CompletePaths(t.Context(), below.Child.ID, ""); !slices.Equal(got, []string{"in.png"}) {
		t.Errorf("of another agent: %q", got)
	}
}

// A child with a worktree works there; what it did is counted, shown, and merged into its parent's folder.
func TestTheWorkInAWorktree(t *testing.T) {
	x := newWorker(t)
	w, ctx := x.w, t.Context()
	git := func(dir string, args ...string) { testkit.Git(t, dir, args...) }
	x.put("a", "one\ntwo\n")
	git(x.dir, "init", "-q", "-b", "main")
	git(x.dir, "add", ".")
	git(x.dir, "commit", "-qm", "first")
	x.put("loose", "not committed\n")
	made := testkit.Must(w.Agents().Fork(ctx, Fork{Parent: x.a, Name: "kid", Worktree: true}))(t)
	task := "a task, which no server takes"
	clean := testkit.Must(w.Agents().Fork(ctx, Fork{Parent: x.a, Name: "clean", Worktree: true, Clean: true, Prompt: &task, Start: kernel.StartTask}))(t)
	kid := &worker{t, w, made.Child, made.Child.Cwd}
	if made.Tree == nil || kid.tree()["loose"] == "" || (&worker{t, w, clean.Child, clean.Child.Cwd}).tree()["loose"] != "" {
		t.Errorf("%+v: %v", made.Tree, kid.tree())
	}
	kid.put("a", "one\n2\nthree\n")
	kid.put("new", "x\n")
	testkit.WaitUntil(t, "git was asked", func() bool {
		f, err := w.Agents().Overview(ctx)
		return err != nil || f.Changes[kid.a.ID].Branch != ""
	})
	f, err := w.Agents().Overview(ctx)
	if got := f.Changes[kid.a.ID]; err != nil || got.Branch == "" || got.Files != 2 || got.Added != 2 || got.Removed != 1 {
		t.Errorf("%+v, %v", f.Changes, err)
	}
	patch, err := w.Files().Changed(ctx, kid.a.ID)
	if err != nil || !strings.Contains(patch, "+2") || !strings.Contains(patch, "-two") {
		t.Errorf("%q, %v", patch, err)
	}
	if patch, err := w.Files().Changed(ctx, found(t, w, "0").ID); err != nil || patch != "" {
		t.Errorf("without a turn: %q, %v", patch, err)
	}
	tree, err := w.Trees().Find(ctx, "merge", "kid")
	if err != nil || tree.Owner == nil || tree.Owner.ID != kid.a.ID || tree.Home != x.dir || tree.Label() != "kid" {
		t.Fatalf("%+v, %v", tree, err)
	}
	if _, err := w.Trees().Find(ctx, "merge", "ada"); !fault.Is(err, fault.NotFound) {
		t.Errorf("one without a worktree: %v", err)
	}
	if all, err := w.Trees().List(ctx); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	x.put("loose", "")
	done, cleaned, err := w.Files().Merge(ctx, tree, x.dir, true)
	if err != nil || !cleaned || done.Commits == 0 || x.tree()["new"] != "x\n" || x.tree()["a"] != "one\n2\nthree\n" {
		t.Errorf("%+v, %t, %v: %v", done, cleaned, err, x.tree())
	}
	if _, err := os.Stat(kid.dir); !os.IsNotExist(err) {
		t.Errorf("the worktree is left: %v", err)
	}
	if got, err := w.Care().SweepTrees(ctx, false); err != nil || got.Count != 0 {
		t.Errorf("a living agent's worktree is swept: %+v, %v", got, err)
	}
	testkit.Must(w.Agents().Kill(ctx, Kill{Agent: clean.Child}))(t)
	for _, plan := range []bool{true, false} {
		got, err := w.Care().SweepTrees(ctx, plan)
		_, gone := os.Stat(clean.Child.Cwd)
		if err != nil || got.Count != 1 || os.IsNotExist(gone) == plan {
			t.Errorf("plan %t: %+v, %v, %v", plan, got, err, gone)
		}
	}
	for stat, want := range map[string][2]int{"": {}, " 2 files changed, 3 insertions(+), 1 deletion(-)": {3, 1}, " 1 file changed, 12 deletions(-)": {0, 12}} {
		if added, removed := countInsertions(stat); [2]int{added, removed} != want {
			t.Errorf("%q: %d %d", stat, added, removed)
		}
	}
}
