package session

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/secret"
	"ramet/internal/base/step"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/driver/foreign"
	"ramet/internal/files"
	"ramet/internal/operation/public"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
)

// worker is an agent whose turns change files, and what they were.
type worker struct {
	t   *testing.T
	w   *Workspace
	a   agent.Agent
	dir string
}

func newWorker(t *testing.T) *worker {
	w := openIn(t, t.TempDir(), t.TempDir(), nil)
	made := testkit.Must(w.Agents().Fork(t.Context(), Fork{Parent: found(t, w, "0"), Name: "ada", Cwd: w.Place.Project}))(t)
	return &worker{t, w, made.Child, w.Place.Project}
}

// tree reads the files as they are.
func (x *worker) tree() map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(x.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == ".ramet" {
			return fs.SkipDir // the trash of the project
		}
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(x.dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		out[filepath.ToSlash(rel)] = string(text)
		return err
	})
	testkit.OK(x.t, err)
	return out
}

// put writes a file, or removes it if the text is empty.
func (x *worker) put(path, text string) {
	at := filepath.Join(x.dir, path)
	err := os.MkdirAll(filepath.Dir(at), 0o755)
	switch {
	case err != nil:
	case text == "":
		err = os.RemoveAll(at)
	default:
		err = os.WriteFile(at, []byte(text), 0o644)
	}
	testkit.OK(x.t, err)
}

func (x *worker) append(drafts ...history.Draft) id.Message {
	made := testkit.Must(x.w.Store.Append(x.t.Context(), x.a.ID, agent.Passing(), drafts...))(x.t)
	return made[len(made)-1].ID
}

// turn lets the agent write files with its tools, and returns the prompt and the last words.
func (x *worker) turn(n int, change func(put func(path, text string))) (asked, answered id.Message) {
	said := func(kind history.Kind, p history.Part) history.Draft {
		return history.Draft{Kind: kind, Parts: []history.Part{p}}
	}
	asked = x.append(said(history.User, history.Part{Type: history.Text, Text: fmt.Sprintf("prompt %d", n)}))
	call := fmt.Sprintf("c%d", n)
	x.append(said(history.Assistant, history.Part{Type: history.ToolCall, CallID: call, Name: "write", Args: []byte(`{}`)}))
	states := x.w.Files().FileStates(x.a, "")
	if before, ok := states.Take(x.t.Context()).Done(x.t.Context(), history.BeforeCalls); ok {
		x.append(before)
	}
	ended := states.Begin()
	replaces := x.w.Files().Replaces(x.a.ID, x.dir)
	change(func(path, text string) {
		old, _ := os.ReadFile(filepath.Join(x.dir, path))
		replaces(path, old, []byte(text))
		x.put(path, text)
	})
	ended()
	x.append(said(history.ToolResult, history.Part{Type: history.Result, CallID: call, Name: "write", Text: "done"}))
	if after, ok := states.Take(x.t.Context()).Done(x.t.Context(), history.AfterCalls); ok {
		x.append(after)
	}
	return asked, x.append(said(history.Assistant, history.Part{Type: history.Text, Text: "done"}))
}

// Files are restored to what they were at any message; a plan changes nothing, an undo takes back the last turn or
// restore, and what a person changed since is kept unless it is forced.
func TestFilesAreRestoredToWhatTheyWere(t *testing.T) {
	paths := []string{"a", "b", "d/c", "d/e"}
	for seed := range uint64(3) {
		dice := rand.New(rand.NewPCG(seed, 7))
		x := newWorker(t)
		ctx := t.Context()
		x.put("a", "first")
		x.put("own", "mine")
		known := map[id.Message]map[string]string{}
		var points []id.Message
		var before map[string]string // the last turn
		for n := range 4 {
			before = x.tree()
			asked, answered := x.turn(n, func(put func(path, text string)) {
				put("a", fmt.Sprint("a", n)) // each turn changes something
				for _, p := range paths[1:] {
					if dice.IntN(2) == 0 {
						put(p, []string{"", fmt.Sprint(p, n)}[dice.IntN(2)])
					}
				}
			})
			known[asked], known[answered] = before, x.tree()
			points = append(points, asked, answered)
		}
		for _, at := range points {
			states := testkit.Must(x.w.Files().StateAt(ctx, x.a, at))(t)
			listed := map[string]bool{}
			testkit.OK(t, x.w.Files().ListFiles(states.State, func(path string, n files.Node, has bool) error {
				if n.Kind == files.File {
					listed[path] = has
				}
				return nil
			}))
			for path := range known[at] {
				if !listed[path] || len(listed) != len(known[at]) {
					t.Errorf("seed %d: at %d the files are %v, want %v", seed, at, listed, known[at])
				}
			}
		}
		restore := func(name string, r Restoring, want map[string]string) {
			t.Helper()
			was := x.tree()
			r.Agent, r.Plan, r.Commands = x.a, true, true // what a turn removed, a command could have
			planned, err := x.w.Files().Restore(ctx, r)
			if err != nil || !maps.Equal(x.tree(), was) {
				t.Fatalf("seed %d, %s: a plan made %v of %v, %v", seed, name, x.tree(), was, err)
			}
			r.Plan = false
			done := testkit.Must(x.w.Files().Restore(ctx, r))(t)
			if got := x.tree(); !maps.Equal(got, want) {
				t.Errorf("seed %d, %s: %v, want %v; kept %v", seed, name, got, want, done.Plan.Kept)
			}
			if maps.Equal(was, want) != (len(done.Changed) == 0) || len(planned.Changed) > 0 || len(planned.Plan.Steps) != len(done.Plan.Steps) {
				t.Errorf("seed %d, %s: changed %v, planned %v", seed, name, done.Changed, planned.Plan.Steps)
			}
		}
		last := x.tree()
		restore("undo", Restoring{Last: true}, before)
		restore("undo of the undo", Restoring{Last: true}, last)
		for range 4 {
			at := points[dice.IntN(len(points))]
			now := x.tree()
			changes := testkit.Must(x.w.Files().DiffFiles(ctx, x.a, at, 0))(t)
			if got, want := diffedPaths(changes), differing(known[at], now); !slices.Equal(got, want) {
				t.Errorf("seed %d: since %d these differ: %v, want %v", seed, at, got, want)
			}
			restore(fmt.Sprint("at ", at), Restoring{At: at}, known[at])
			restore("undo of that", Restoring{Last: true}, now)
			one := maps.Clone(now)
			delete(one, "a")
			one["a"] = known[at]["a"]
			restore("one path", Restoring{At: at, Paths: []string{"./a"}}, one)
		}
		x.put("a", "a person's")
		kept := maps.Clone(known[points[0]])
		kept["a"] = "a person's"
		restore("what a person changed stays", Restoring{At: points[0]}, kept)
		restore("unless it is forced", Restoring{At: points[0], Force: true}, known[points[0]])
	}
}

func diffedPaths(changes []public.FileChange) (out []string) {
	for _, c := range changes {
		out = append(out, c.Path)
	}
	slices.Sort(out)
	return out
}

// differing lists the paths at which two trees differ.
func differing(a, b map[string]string) (out []string) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for path := range all {
		if was, there := a[path]; was != b[path] || there != (b[path] != "") {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// Verbs about files refuse what makes no sense, and say so when the store fails.
func TestVerbsAboutFilesFail(t *testing.T) {
	x := newWorker(t)
	w, ctx := x.w, t.Context()
	zero := found(t, w, "0")
	x.put("a", "1")
	asked, answered := x.turn(0, func(put func(path, text string)) { put("a", "2") })
	states, err := history.States(ctx, w.Store, x.a.ID)
	if err != nil || len(states) != 2 {
		t.Fatalf("%d states, %v", len(states), err)
	}
	child(t, w, "0", "gone")
	gone := found(t, w, "gone")
	testkit.Must(w.Agents().Kill(ctx, Kill{Agent: gone}))(t)
	gone.Status = agent.Dead
	for name, c := range map[string]struct {
		err  error
		code fault.Code
	}{
		"a state of an agent without any":       {failed(w.Files().StateAt(ctx, zero, 0)), fault.NotFound},
		"a state at another agent's message":    {failed(w.Files().StateAt(ctx, zero, asked)), fault.NotFound},
		"an undo without a turn":                {failed(w.Files().Restore(ctx, Restoring{Agent: zero, Last: true})), fault.NotFound},
		"a path outside":                        {failed(w.Files().Restore(ctx, Restoring{Agent: x.a, At: asked, Paths: []string{"../x"}})), ""},
		"a path that never was":                 {failed(w.Files().Restore(ctx, Restoring{Agent: x.a, At: asked, Paths: []string{"nope"}})), fault.NotFound},
		"files of the dead":                     {failed(w.Files().Restore(ctx, Restoring{Agent: gone, At: asked})), fault.DeadAgent},
		"by an agent, forced":                   {failed(w.Files().Restore(As(ctx, x.a.ID), Restoring{Agent: x.a, At: asked, Force: true})), fault.Denied},
		"by an agent, commands":                 {failed(w.Files().Restore(As(ctx, x.a.ID), Restoring{Agent: x.a, At: asked, Commands: true})), fault.Denied},
		"by another agent":                      {failed(w.Files().Restore(As(ctx, x.a.ID), Restoring{Agent: zero, At: asked})), fault.Denied},
		"a difference of no state":              {failed(w.Files().DiffState(ctx, x.a, asked)), fault.NotFound},
		"a difference of another's state":       {failed(w.Files().DiffState(ctx, zero, states[0].ID)), fault.NotFound},
		"a rewind without a mark":               {failed(w.Files().RewindFiles(ctx, x.a, Rewinding{})), fault.NotFound},
		"a redaction of another's state":        {w.History().Redact(ctx, zero, states[0].ID), fault.NotFound},
		"states that are not kept on this disk": {w.Files().ListFiles(history.State{Root: strings.Repeat("ab", 32)}, nil), fault.NotFound},
		"a root that is none":                   {w.Files().ListFiles(history.State{Root: "x"}, nil), fault.HistoryDamaged},
	} {
		if c.err == nil || c.code != "" && !fault.Is(c.err, c.code) {
			t.Errorf("%s: %v, want %s", name, c.err, c.code)
		}
	}
	if changes, err := w.Files().DiffState(ctx, x.a, states[0].ID); err != nil || len(changes) != 0 {
		t.Errorf("the first state changed %v, %v", changes, err)
	}
	changes, err := w.Files().DiffState(ctx, x.a, states[1].ID)
	if err != nil || len(changes) != 1 || changes[0].Path != "a" || !strings.Contains(changes[0].Diff, "-1") || !strings.Contains(changes[0].Diff, "+2") {
		t.Errorf("the turn changed %+v, %v", changes, err)
	}
	testkit.Must(w.History().Mark(ctx, x.a, "here"))(t)
	for _, c := range []struct {
		name string
		verb func() error
	}{
		{"StateAt", func() error { return failed(w.Files().StateAt(ctx, x.a, answered)) }},
		{"DiffFiles", func() error { return failed(w.Files().DiffFiles(ctx, x.a, 0, 0)) }},
		{"DiffFiles of two", func() error { return failed(w.Files().DiffFiles(ctx, x.a, asked, answered)) }},
		{"DiffState", func() error { return failed(w.Files().DiffState(ctx, x.a, states[1].ID)) }},
		{"GCFiles", func() error { return failed(w.Care().GCFiles(ctx, Sweep{Plan: true})) }},
		{"Restore", func() error { return failed(w.Files().Restore(ctx, Restoring{Agent: x.a, At: asked})) }},
		{"Restore the last", func() error { return failed(w.Files().Restore(ctx, Restoring{Agent: x.a, Last: true})) }},
		{"RewindFiles", func() error { return failed(w.Files().RewindFiles(ctx, x.a, Rewinding{Label: "here"})) }},
		{"Redact a state", func() error { return w.History().Redact(ctx, x.a, states[1].ID) }},
	} {
		storetest.FailEachStatement(t, &sqlite.Before, c.name, c.verb)
	}
}

// A restore during which a step on the disk fails says so, or did all of it; the next one gets there, and nothing that
// only a state holds is lost. The same holds for taking states, for the trash and for dropping old states.
func TestARestoreWhoseStepsFailIsCompleted(t *testing.T) {
	x := newWorker(t)
	w, ctx := x.w, t.Context()
	w.Secrets = secret.New(map[string]string{"KEY": "sesame-sesame-sesame"})
	x.put("a", "1")
	x.put("d/b", "1")
	x.put("key", "1")
	asked, _ := x.turn(0, func(put func(path, text string)) { put("a", "2"); put("d/b", ""); put("e/c", "2") })
	was := map[string]string{"a": "1", "d/b": "1", "key": "1"}
	for n := 1; ; n++ {
		x.put("a", fmt.Sprint("mine ", n))
		x.put("d", "")
		x.put("e/c", "mine")
		x.put("key", fmt.Sprint(n, " sesame-sesame-sesame"))
		var left atomic.Int64
		left.Store(int64(n))
		step.Hook = func(string) error {
			if left.Add(-1) == 0 {
				return syscall.EIO
			}
			return nil
		}
		_, err := w.Files().Restore(ctx, Restoring{Agent: x.a, At: asked, Force: true})
		if err == nil {
			_, err = w.Care().EmptyTrash(ctx, Emptying{Over: int64(n)})
		}
		if err == nil {
			_, err = w.Care().GCFiles(ctx, Sweep{Since: time.Now().Add(time.Hour)})
		}
		step.Hook = nil
		if err == nil && !maps.Equal(x.tree(), was) {
			t.Errorf("step %d failed, no error, and the files are %v", n, x.tree())
		}
		if left.Load() > 0 {
			if err != nil {
				t.Errorf("no step failed: %v", err)
			}
			return
		}
		if err != nil && !errors.Is(err, syscall.EIO) && !strings.Contains(err.Error(), "input/output error") {
			t.Errorf("step %d: %v", n, err)
		}
		if _, err := w.Files().Restore(ctx, Restoring{Agent: x.a, At: asked, Force: true}); err != nil || !maps.Equal(x.tree(), was) {
			t.Fatalf("after step %d failed: %v, %v", n, x.tree(), err)
		}
	}
}

// A reader of entries that are not readable reports that the history is damaged, instead of leaving them out.
func TestReadersReportDamagedEntries(t *testing.T) {
	x := newWorker(t)
	w, ctx, dir := x.w, t.Context(), t.TempDir()
	x.put("a", "1")
	asked, _ := x.turn(0, func(put func(path, text string)) { put("a", "2") })
	states, err := history.States(ctx, w.Store, x.a.ID)
	if err != nil || len(states) != 2 {
		t.Fatalf("%d states, %v", len(states), err)
	}
	testkit.OK(t, w.Models().SetEffort(ctx, x.a, "high"))
	testkit.Must(w.Store.Append(ctx, x.a.ID, agent.Passing(), registry.LimitEntry(history.Limit{By: "agent ada", Tools: []string{"kill"}})))(t)
	main, side := filepath.Join(dir, "s.jsonl"), filepath.Join(dir, "agent-77.jsonl")
	add(t, main, `{"type":"user","uuid":"a0","parentUuid":null,"sessionId":"s","message":{"content":"begin"}}`,
		`{"type":"assistant","uuid":"a1","parentUuid":"a0","sessionId":"s","message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"Task","input":{"prompt":"task"}}]}}`)
	add(t, side, `{"type":"user","uuid":"x0","parentUuid":null,"isSidechain":true,"agentId":"77","sessionId":"s","message":{"content":"task"}}`)
	bring(t, w, main, 0)
	source := testkit.Must(foreign.In(ctx, main))(t)
	db := testkit.Must(sql.Open("sqlite", w.Place.DB+"?_pragma=busy_timeout(5000)"))(t)
	defer db.Close()
	change := func(query string, args ...any) {
		t.Helper()
		testkit.Must(db.ExecContext(ctx, query, args...))(t)
	}
	harm := map[string]string{"content": "x'7b'", "meta": "'{'"}
	change(`CREATE TABLE kept AS SELECT id, content, meta FROM messages`)
	for _, c := range []struct {
		column string
		kind   history.Kind
		reader string
		read   func() error
	}{
		{"content", history.User, "Page", func() error { return failed(w.History().Page(ctx, x.a.ID, Span{Limit: 100})) }},
		{"meta", history.User, "Page", func() error { return failed(w.History().Page(ctx, x.a.ID, Span{Limit: 100})) }},
		{"content", history.User, "Timeline", func() error { return failed(w.History().Timeline(ctx, x.a.ID)) }},
		{"meta", history.User, "Timeline", func() error { return failed(w.History().Timeline(ctx, x.a.ID)) }},
		{"content", history.User, "WriteSession", func() error { return failed(w.History().WriteSession(ctx, x.a, "claude", io.Discard)) }},
		{"meta", history.Command, "Effort", func() error { return failed(w.Models().Effort(ctx, x.a)) }},
		{"meta", history.Command, "Admit", func() error { return failed(w.Admit(As(ctx, x.a.ID), "x", false, "kill")) }},
		{"meta", history.Files, "StateAt", func() error { return failed(w.Files().StateAt(ctx, x.a, asked)) }},
		{"meta", history.Files, "ShowStates", func() error { return failed(w.Files().ShowStates(ctx, x.a)) }},
		{"meta", history.Files, "DiffState", func() error { return failed(w.Files().DiffState(ctx, x.a, states[1].ID)) }},
		{"meta", history.Files, "Restore", func() error {
			return failed(w.Files().Restore(ctx, Restoring{Agent: x.a, Last: true, Plan: true}))
		}},
		{"meta", history.Files, "GCFiles", func() error { return failed(w.Care().GCFiles(ctx, Sweep{Plan: true})) }},
		{"meta", history.Files, "forgetFiles", func() error { return w.Care().forgetFiles(ctx, states[1].ID) }},
		{"meta", history.Import, "Imports", func() error { return failed(w.History().Imports(ctx)) }},
		{"meta", history.Assistant, "a second import", func() error { return failed(take(t, w, main, true)) }},
		{"meta", history.Assistant, "CompareSource", func() error { return failed(w.History().CompareSource(ctx, source[0])) }},
		{"content", history.Assistant, "CompareSource", func() error { return failed(w.History().CompareSource(ctx, source[0])) }},
		{"content", history.Assistant, "the import of a sub-agent", func() error { return failed(take(t, w, side, true)) }},
	} {
		change(fmt.Sprintf(`UPDATE messages SET %s = %s WHERE kind = ?`, c.column, harm[c.column]), c.kind)
		if err := c.read(); !fault.Is(err, fault.HistoryDamaged) {
			t.Errorf("%s with a damaged %s of %s entries: %v", c.reader, c.column, c.kind, err)
		}
		change(`UPDATE messages SET content = kept.content, meta = kept.meta FROM kept WHERE kept.id = messages.id`)
		if err := c.read(); err != nil {
			t.Errorf("%s: %v", c.reader, err)
		}
	}
	change(`DROP TABLE kept`)
}
