package telemetry

import (
	"encoding/json"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// mostEarly is how many hooks of an agent are kept whose turn has not begun.
const mostEarly = 100

// hook records a hook that ran: below the turn that is under way, or the last one; one that ran
// before its turn began, when that begins.
func (b *Turnlog) hook(e history.Entry) {
	var m history.Meta
	if json.Unmarshal(e.Meta, &m) != nil || m.Hook == nil {
		return
	}
	h := TurnHook{ID: e.Hash.String(), Event: m.Hook.Event, About: m.Hook.About, Program: m.Hook.Program, From: m.Hook.From,
		Outcome: m.Hook.Outcome, Why: m.Hook.Why, At: e.CreatedAt, TookMS: m.Hook.TookMS}
	t := b.open[e.Agent]
	switch m.Hook.Event {
	case "UserPromptSubmit", "SessionStart", "SubagentStart":
	default:
		if t == nil {
			t = b.last[e.Agent]
		}
	}
	if t != nil {
		b.Put(t.Hook(h)...)
	} else if len(b.early[e.Agent]) < mostEarly {
		b.early[e.Agent] = append(b.early[e.Agent], h)
	}
}

// hooked records the hooks that ran before a turn began.
func (b *Turnlog) hooked(a id.Agent, t *turn) {
	for _, h := range b.early[a] {
		b.Put(t.Hook(h)...)
	}
	delete(b.early, a)
}
