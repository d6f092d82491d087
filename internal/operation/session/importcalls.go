package session

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/driver/foreign"
)

// calls are the calls of a session that may have begun a sub-agent, and where each stands.
type calls struct {
	made    map[string]position // by the id of the call
	order   []asked             // those that gave somebody a task, in their order
	results []answered
}

// asked is a call with a task.
type asked struct {
	id, task string
	at       position
}

// answered is the result of a call with a task.
type answered struct{ call, text string }

// callsOf reads the calls of a session and its branches, once for all its sub-agents.
func (m *Imports) callsOf(ctx context.Context, b brought) (*calls, error) {
	if c, ok := m.calls[b.agent]; ok {
		return c, nil
	}
	c := &calls{made: map[string]position{}}
	for _, a := range m.family(b.agent, false) {
		for e, err := range m.ws.Store.QueryRange(ctx, history.Range{Agent: a}, history.Selection{}) {
			if err != nil {
				return nil, err
			}
			if e.Kind == history.Assistant || e.Kind == history.ToolResult {
				if err := c.note(e); err != nil {
					return nil, err
				}
			}
		}
	}
	m.calls[b.agent] = c
	return c, nil
}

func (c *calls) note(e history.Entry) error {
	parts, err := e.Parts()
	if err != nil {
		return err
	}
	for _, p := range parts {
		switch {
		case p.Type == history.ToolCall:
			at := position{e.Agent, e.ID}
			c.made[p.CallID] = at
			if task := taskOf(p.Args); task != "" {
				c.order = append(c.order, asked{p.CallID, task, at})
			}
		case p.Type == history.Result:
			if _, ok := c.made[p.CallID]; ok && len(p.Text) < longResult {
				c.results = append(c.results, answered{p.CallID, p.Text})
			}
		}
	}
	return nil
}

// longResult is as long as no result is that tells of a sub-agent before it tells what that found.
const longResult = 1 << 20

// taskOf returns the task that a call gives a sub-agent; empty: none.
func taskOf(args json.RawMessage) string {
	var a struct{ Prompt, Message, Task string }
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	for _, s := range []string{a.Prompt, a.Message, a.Task} {
		if s = strings.TrimSpace(s); s != "" {
			return s
		}
	}
	return ""
}

// begun is the call that a sub-agent worked for: the one that its program names; else the one whose result names the
// sub-agent; else the newest whose task is what the sub-agent was told first. false: nobody can tell.
func (c *calls) begun(s foreign.Session) (position, string, bool) {
	if at, ok := c.made[s.Call]; ok && s.Call != "" {
		return at, s.Call, true
	}
	if name := strings.TrimPrefix(s.ID, "agent-"); name != "" {
		for _, r := range c.results {
			if strings.Contains(r.text, name) {
				return c.made[r.call], r.call, true
			}
		}
	}
	return c.gave(s.Begins())
}

// gave is the newest call whose task is this.
func (c *calls) gave(task string) (position, string, bool) {
	task = strings.TrimSpace(task)
	for i := len(c.order) - 1; i >= 0 && task != ""; i-- {
		if one := c.order[i]; one.task == task {
			return one.at, one.id, true
		}
	}
	return position{}, "", false
}

// subAgent is where a sub-agent stands that has a file of its own: behind its call, else at the end of the session that
// it is a part of; and how it begins. false: that session is not here, or has ended.
func (w *bringer) subAgent(ctx context.Context) (id.Agent, []history.Draft, bool, error) {
	up, ok := w.of(w.src.Program, w.src.Of)
	if !ok {
		return "", nil, false, nil
	}
	c, err := w.callsOf(ctx, up)
	if err != nil {
		return "", nil, false, err
	}
	if at, call, found := c.begun(w.src.Session); found && w.reachable(ctx, at) {
		w.src.Call = call
		return at.agent, behind(at), true, nil
	}
	if agent.NeedLiving(w.agents[up.agent]) != nil {
		return "", nil, false, nil
	}
	return up.agent, []history.Draft{history.NewClear()}, true, nil
}

// reachable reports whether an agent can be forked after a message: its agent is alive, and has not
// been cleared since.
func (w *bringer) reachable(ctx context.Context, at position) bool {
	return agent.NeedLiving(w.agents[at.agent]) == nil && history.Lookup(ctx, w.ws.Store, at.agent, at.message) == nil
}

// behind returns the start of an agent that was called at a position and knows nothing of what was before.
func behind(at position) []history.Draft {
	return []history.Draft{history.NewRewind(at.message, ""), history.NewClear()}
}

// sideAgent is the same for a sub-agent in the file of its session; nil: nobody can tell which call it worked for.
func (w *bringer) sideAgent(ctx context.Context, node foreign.Node) (*position, error) {
	if w.plan {
		return nil, nil
	}
	if err := w.sendAll(ctx); err != nil {
		return nil, err
	}
	said, err := node.Items()[0].Read()
	if err != nil {
		return nil, err
	}
	if w.stale {
		clear(w.calls)
		w.stale = false
	}
	c, err := w.callsOf(ctx, brought{agent: w.held.main})
	if err != nil {
		return nil, err
	}
	at, _, found := c.gave(history.Plain(said.Parts))
	if !found || !w.reachable(ctx, at) {
		return nil, nil
	}
	return &at, nil
}

// givesTask reports whether an entry gives a sub-agent a task.
func givesTask(parts []history.Part) bool {
	return slices.ContainsFunc(parts, func(p history.Part) bool { return p.Type == history.ToolCall && taskOf(p.Args) != "" })
}

// base returns the position of a session that begins with a part of another one and says so by pointing at it; nil:
// that part is not here, which is told.
func (w *bringer) base(ctx context.Context) (*position, error) {
	base := w.src.Base
	up, ok := w.named(w.src.Program, base.Session)
	if !ok {
		w.note("it begins with %d bytes of session %s, which is not imported here: that part is missing", base.Bytes, base.Session)
		return nil, nil
	}
	type line struct {
		offset int64
		at     position
	}
	var before []line
	_, err := w.load(ctx, up, func(b history.Bytes, at position) {
		if b.Offset < base.Bytes {
			before = append(before, line{b.Offset, at})
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(before, func(a, b line) int { return int(b.offset - a.offset) })
	for _, l := range before[:min(len(before), mostBehind)] {
		if w.reachable(ctx, l.at) {
			return &l.at, nil
		}
	}
	w.note("it begins with %d bytes of session %s, which cannot be gone on from any more: that part is missing", base.Bytes, base.Session)
	return nil, nil
}

// mostBehind limits the lines after the last one that an agent can be at.
const mostBehind = 1000

// parent returns the agent of a position; empty for none.
func (p *position) parent() id.Agent {
	if p == nil {
		return ""
	}
	return p.agent
}

func (p *position) begins() []history.Draft {
	if p == nil {
		return nil
	}
	return []history.Draft{history.NewRewind(p.message, "")}
}

// named finds the session that a pointer of Codex means: by the name of its file, which is another one than the
// session's where that was taken back to an earlier state, else by the session's.
func (m *Imports) named(program, name string) (brought, bool) {
	for key, list := range m.known {
		if !strings.HasPrefix(key, program+"/") {
			continue
		}
		for _, b := range slices.Backward(list) {
			if strings.HasSuffix(filepath.Base(b.first.Path), "-"+name+".jsonl") {
				return b, true
			}
		}
	}
	return m.of(program, name)
}
