package session

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/driver/foreign"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
)

// claudeTree is a session of Claude Code that grows at random, and what its branches say.
type claudeTree struct {
	path  string
	said  []string // what stands on the way to each line, itself included
	leafs map[int]bool
}

// grow writes n lines. Each follows one of the lines before it, mostly the last; some are the first of a part without
// a beginning, or of a sub-agent.
func (c *claudeTree) grow(t *testing.T, dice *rand.Rand, n int) {
	t.Helper()
	for range n {
		i := len(c.said)
		up, parent, before, side := -1, "null", "", false
		switch roll := dice.IntN(20); {
		case i == 0, roll == 0:
		case roll == 1:
			parent = `"gone"`
		case roll == 2:
			side = true
		case roll < 15:
			up = i - 1
		default:
			up = dice.IntN(i)
		}
		if up >= 0 {
			delete(c.leafs, up)
			parent, before = fmt.Sprintf(`"u%d"`, up), c.said[up]+" "
		}
		c.said = append(c.said, fmt.Sprintf("%st%d", before, i))
		c.leafs[i] = true
		kind := []string{"user", "assistant"}[dice.IntN(2)]
		add(t, c.path, fmt.Sprintf(`{"type":%q,"uuid":"u%d","parentUuid":%s,"isSidechain":%t,"sessionId":"s","timestamp":"2026-01-02T03:04:05.000Z","message":{"id":"m%d","content":"t%d"}}`,
			kind, i, parent, side, i, i))
	}
}

// want lists what the agents of the import have to know, one for each branch.
func (c *claudeTree) want() (out []string) {
	for leaf := range c.leafs {
		out = append(out, c.said[leaf])
	}
	slices.Sort(out)
	return out
}

// importedContexts lists what the models of all agents but agent 0 would be told.
func importedContexts(t *testing.T, w *Workspace) (out []string) {
	t.Helper()
	all := testkit.Must(w.Store.Agents(t.Context(), agent.Filter{Dead: true}))(t)
	for _, a := range all {
		if !a.IsZero() {
			out = append(out, contextOf(t, w, Import{Agent: a}))
		}
	}
	slices.Sort(out)
	return out
}

// take imports a session, or plans it.
func take(t *testing.T, w *Workspace, path string, plan bool) (Import, error) {
	t.Helper()
	list := testkit.Must(foreign.In(t.Context(), path))(t)
	m, err := w.History().Imports(t.Context())
	if err != nil {
		return Import{}, err
	}
	return m.Take(t.Context(), list[0], plan)
}

// However a session grew, each of its branches is one agent that knows what the branch says. A plan counts what the
// import then does, and importing it again adds nothing.
func TestEachBranchOfASessionIsAnAgent(t *testing.T) {
	for seed := range uint64(12) {
		dice := rand.New(rand.NewPCG(seed, 1))
		w, c := open(t, nil), &claudeTree{path: filepath.Join(t.TempDir(), "s.jsonl"), leafs: map[int]bool{}}
		entries, branches := 0, 0
		for range 1 + dice.IntN(3) {
			c.grow(t, dice, 1+dice.IntN(12))
			planned := testkit.Must(take(t, w, c.path, true))(t)
			done := bring(t, w, c.path, 0)
			if planned.Entries != done.Entries || planned.Branches != done.Branches || planned.New != done.New {
				t.Errorf("seed %d: planned %+v, done %+v", seed, planned, done)
			}
			entries, branches = entries+done.Entries, branches+done.Branches
			if p := proved(t, w, c.path); p.Entries != entries || p.Since != 0 || p.Lines != int64(len(c.said)) || p.Agent.ID != done.Agent.ID {
				t.Errorf("seed %d: %d entries, %+v", seed, entries, p)
			}
		}
		if entries != len(c.said) || branches != len(c.leafs)-1 {
			t.Errorf("seed %d: %d entries of %d lines, %d branches of %d", seed, entries, len(c.said), branches, len(c.leafs))
		}
		if got := importedContexts(t, w); !slices.Equal(got, c.want()) {
			t.Errorf("seed %d: the agents know\n%q, want\n%q", seed, got, c.want())
		}
		if again := bring(t, w, c.path, 0); again.New || again.Entries != 0 || again.Branches != 0 {
			t.Errorf("seed %d: again %+v", seed, again)
		}
	}
}

// An import during which the store fails says so, and the next one completes it.
func TestAnImportThatFailedIsCompleted(t *testing.T) {
	for n := 1; ; n++ {
		dice := rand.New(rand.NewPCG(3, 1))
		w, c := open(t, nil), &claudeTree{path: filepath.Join(t.TempDir(), "s.jsonl"), leafs: map[int]bool{}}
		c.grow(t, dice, 3)
		bring(t, w, c.path, 0)
		c.grow(t, dice, 3)
		var left atomic.Int64
		left.Store(int64(n))
		sqlite.Before = func(string) error {
			if left.Add(-1) == 0 {
				return storetest.ErrInjected
			}
			return nil
		}
		_, err := take(t, w, c.path, false)
		sqlite.Before = nil
		if failed := left.Load() <= 0; failed != (err != nil) {
			t.Errorf("statement %d failed: %t, the import: %v", n, failed, err)
		}
		if err == nil {
			return
		}
		bring(t, w, c.path, 0)
		proved(t, w, c.path)
		got := importedContexts(t, w)
		for _, want := range c.want() {
			if !slices.Contains(got, want) {
				t.Errorf("after statement %d failed no agent knows %q: %q", n, want, got)
			}
		}
	}
}

// Lines added to an imported file after its agent got new messages become a fork at the last imported line. A redacted
// entry is counted as redacted, and a file whose old lines changed proves nothing.
func TestAFileThatGrewAfterItsAgentWentOn(t *testing.T) {
	line := func(i int, up string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"u%d","parentUuid":%s,"sessionId":"s","message":{"content":"t%d"}}`, i, up, i)
	}
	for _, c := range []struct {
		name  string
		touch func(w *Workspace, a agent.Agent) error
		want  []string
	}{
		{"nothing", func(*Workspace, agent.Agent) error { return nil }, []string{"t0 t1 t2"}},
		{"a note", func(w *Workspace, a agent.Agent) error {
			return failed(w.History().Append(t.Context(), a, history.Note, "n"))
		}, []string{"t0 t1 t2"}},
		{"a message", func(w *Workspace, a agent.Agent) error {
			return failed(w.History().Append(t.Context(), a, history.User, "mine"))
		}, []string{"t0 t1 mine", "t0 t1 t2"}},
		{"a rewind", func(w *Workspace, a agent.Agent) error {
			p, err := w.History().Page(t.Context(), a.ID, Span{Limit: 2})
			if err != nil {
				return err
			}
			return failed(w.History().RewindTo(t.Context(), a, p.Entries[0].ID))
		}, []string{"t0", "t0 t1 t2"}},
	} {
		w, path := open(t, nil), filepath.Join(t.TempDir(), "s.jsonl")
		add(t, path, line(0, "null"), line(1, `"u0"`))
		a := bring(t, w, path, 0).Agent
		testkit.OK(t, c.touch(w, a))
		add(t, path, line(2, `"u1"`))
		if bring(t, w, path, 0); !slices.Equal(importedContexts(t, w), c.want) {
			t.Errorf("%s: %q, want %q", c.name, importedContexts(t, w), c.want)
		}
		if p := proved(t, w, path); p.Entries != 3 {
			t.Errorf("%s: %+v", c.name, p)
		}
		var last id.Message
		for e, err := range w.Store.QueryRange(t.Context(), history.Range{Agent: a.ID}, history.Selection{}) {
			if m, merr := e.Decode(); err != nil || merr != nil {
				t.Fatal(err, merr)
			} else if m.Source != "" {
				last = e.ID
			}
		}
		testkit.OK(t, w.History().Redact(t.Context(), a, last))
		if p := proved(t, w, path); p.Entries != 2 || p.Redacted != 1 {
			t.Errorf("%s, redacted: %+v", c.name, p)
		}
		text := testkit.Must(os.ReadFile(path))(t)
		add(t, path, line(3, `"u2"`))
		if p := proved(t, w, path); p.Since != int64(len(line(3, `"u2"`))+1) {
			t.Errorf("%s: grew by %d", c.name, p.Since)
		}
		testkit.OK(t, os.WriteFile(path, []byte(strings.Replace(string(text), "t1", "tX", 1)), 0o600))
		list := testkit.Must(foreign.In(t.Context(), path))(t)
		if _, err := w.History().CompareSource(t.Context(), list[0]); !fault.Is(err, fault.HistoryDamaged) {
			t.Errorf("%s: a changed file: %v", c.name, err)
		}
	}
}

// What a file grew by behind an agent that was killed becomes an agent that knows nothing of what was before.
func TestABranchWhoseAgentWasKilledGoesOnWithoutItsPast(t *testing.T) {
	w, path := open(t, nil), filepath.Join(t.TempDir(), "s.jsonl")
	line := func(i, up int) string {
		return fmt.Sprintf(`{"type":"user","uuid":"u%d","parentUuid":"u%d","sessionId":"s","message":{"content":"t%d"}}`, i, up, i)
	}
	add(t, path, strings.Replace(line(0, 0), `"u0","sess`, `null,"sess`, 1), line(1, 0), line(2, 0))
	main := bring(t, w, path, 0).Agent
	all := testkit.Must(w.Store.Agents(t.Context(), agent.Filter{}))(t)
	for _, a := range all {
		if a.Parent == main.ID {
			testkit.Must(w.Agents().Kill(t.Context(), Kill{Agent: a}))(t)
		}
	}
	add(t, path, line(3, 1))
	if bring(t, w, path, 0); !slices.Equal(importedContexts(t, w), []string{"t0 t1", "t0 t2", "t3"}) {
		t.Errorf("%q", importedContexts(t, w))
	}
	proved(t, w, path)
}

// A sub-agent becomes a child that is forked at the call that started it: the call that its program names, else the call
// whose result names it, else the newest call with its task. Its context does not include earlier messages.
func TestSubAgentsAreBehindTheirCalls(t *testing.T) {
	dir := t.TempDir()
	call := func(i int, id, task string) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":"a%d","parentUuid":"a%d","sessionId":"s","message":{"id":"m%d","content":[{"type":"tool_use","id":%q,"name":"Task","input":{"prompt":%q}}]}}`, i, i-1, i, id, task)
	}
	result := func(i int, id, text string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"a%d","parentUuid":"a%d","sessionId":"s","message":{"content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}}`, i, i-1, id, text)
	}
	side := func(agent, text string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"x%s","parentUuid":null,"isSidechain":true,"agentId":%q,"sessionId":"s","message":{"content":%q}}`, agent, agent, text)
	}
	session := filepath.Join(dir, "s.jsonl")
	add(t, session, `{"type":"user","uuid":"a0","parentUuid":null,"sessionId":"s","message":{"content":"begin"}}`,
		call(1, "c1", "same task"), result(2, "c1", "done"), call(3, "c2", "same task"), result(4, "c2", "done"), call(5, "c3", "another"), result(6, "c3", "agent 77 says so"),
		`{"type":"user","uuid":"inside","parentUuid":null,"isSidechain":true,"sessionId":"s","message":{"content":" another "}}`,
		`{"type":"user","uuid":"unasked","parentUuid":null,"isSidechain":true,"sessionId":"s","message":{"content":"without a call"}}`)
	w := open(t, nil)
	main := bring(t, w, session, 0)
	targets := map[string]string{} // the call behind which a sub-agent is, by its first words
	look := func() {
		all := testkit.Must(w.Store.Agents(t.Context(), agent.Filter{}))(t)
		for _, a := range all {
			if a.Parent != main.Agent.ID {
				continue
			}
			text := contextOf(t, w, Import{Agent: a})
			targets[text] = "the end"
			for e, err := range w.Store.QueryRange(t.Context(), history.Range{Agent: a.ID}, history.Selection{}) {
				m, merr := e.Decode()
				if err != nil || merr != nil {
					t.Fatal(err, merr)
				}
				if e.Kind != history.Rewind {
					continue
				}
				at := testkit.Must(id.ParseMessage(m.Target))(t)
				e := testkit.Must(w.Store.Entry(t.Context(), at))(t)
				if parts, err := e.Parts(); err != nil {
					t.Fatal(err)
				} else {
					targets[text] = parts[0].CallID
				}
			}
		}
	}
	for name, text := range map[string]string{"77": "who knows", "88": "same task", "99": "named", "66": "in no call"} {
		path := filepath.Join(dir, "agent-"+name+".jsonl")
		add(t, path, side(name, text))
		if name == "99" {
			add(t, filepath.Join(dir, "agent-99.meta.json"), `{"toolUseId":"c1","spawnDepth":1}`)
		}
		bring(t, w, path, 0)
	}
	look()
	for text, want := range map[string]string{"who knows": "c3", "same task": "c2", "named": "c1", "in no call": "the end", " another ": "c3", "without a call": "the end"} {
		if targets[text] != want {
			t.Errorf("%q is behind %q, want %q; %q", text, targets[text], want, targets)
		}
	}
}
