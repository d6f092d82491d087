package kernel

import (
	"context"
	"fmt"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/kernel/process"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

func (w *windows) of(m llm.Ref) *loop.Window {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = map[llm.Ref]*loop.Window{}
	}
	if w.known[m] == nil {
		w.known[m] = &loop.Window{}
	}
	return w.known[m]
}

// recalling adds the tool that reads what is left out of a context. Who has no tools at all
// has no long turns, and gets none.
func (k *Kernel) recalling(a id.Agent, m llm.Model, box tool.Box) tool.Box {
	if len(box) == 0 {
		return box
	}
	most := 0
	if m.Context > 0 { // an answer is never more than a small part of the window
		most = int(min(process.MostRecalled, max(1024, m.Context/8)))
	}
	return append(box[:len(box):len(box)], process.NewRecall(k.Store, a, most))
}

// facts returns the text after a summary of the conversation: the agent's identity and its children. It leaves out what
// can't be read.
func (k *Kernel) facts(ctx context.Context, self id.Agent) string {
	a, err := k.Store.Agent(ctx, self)
	if err != nil {
		return ""
	}
	out := "You are " + a.Label()
	if parent, err := k.Store.Agent(ctx, a.Parent); !a.IsZero() && err == nil {
		out += ", a child of " + parent.Label()
	}
	if a.Cwd != "" {
		out += "; your folder is " + a.Cwd
	}
	out += "."
	if working := k.working(ctx, self); len(working) > 0 {
		out += " Your children that still work: " + strings.Join(working, ", ") + "."
	}
	if a.Unread > 0 {
		out += fmt.Sprintf(" Letters that you have not read: %d.", a.Unread)
	}
	return out
}

// working are the children of an agent that work on their tasks in this kernel.
func (k *Kernel) working(ctx context.Context, parent id.Agent) []string {
	k.mu.Lock()
	var busy []id.Agent
	for a, p := range k.live {
		if p.tasked {
			busy = append(busy, a)
		}
	}
	k.mu.Unlock()
	var out []string
	for _, one := range busy {
		if a, err := k.Store.Agent(ctx, one); err == nil && a.Parent == parent && a.Status == agent.Running {
			out = append(out, a.Label())
		}
	}
	return out
}

// attended reports whether a person at a terminal or at the page asked for the job.
func (k *Kernel) attended(by *history.Actor) bool {
	return k.Attended || by != nil && (by.Face == history.Terminal || by.Face == history.Page)
}
