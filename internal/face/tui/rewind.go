package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
)

// rewinding asks what is to go back: the conversation, the files, or both. It shows what would
// happen to the files.
type rewinding struct {
	agent id.Agent
	title string // the command, as it was typed
	to    operation.RewindInput
	plan  public.Restore
	at    int
	high  int
}

type rewindMsg struct {
	rewinding
	err error
}

// rewind goes back to a place. Where that would change files, it is asked what is meant.
func (m *root) rewind(title string, a id.Agent, to operation.RewindInput) tea.Cmd {
	workspace, ctx := m.workspace, m.ctx
	to.Agent = operation.AgentRef(a)
	return m.alter(a, func() tea.Msg {
		r := rewinding{agent: a, title: title, to: to}
		to.Files, to.DryRun = true, true
		out, err := operation.Rewind.Call(ctx, workspace, to)
		if err == nil {
			r.plan = *out.Files
		}
		return rewindMsg{r, err}
	})
}

// conversation goes back and leaves the files as they are.
func (r *rewinding) conversation(m *root) tea.Cmd {
	return m.alter(r.agent, m.work(r.title, func(ctx context.Context, workspace Workspace) (string, error) {
		_, err := operation.Rewind.Call(ctx, workspace, r.to)
		return "", err
	}))
}

// rewindPlanned asks, or goes back at once where there is nothing to choose.
func (m *root) rewindPlanned(msg rewindMsg) tea.Cmd {
	r := msg.rewinding
	if p := r.plan; msg.err != nil || len(p.Restored)+len(p.Removed)+len(p.Kept) == 0 {
		return r.conversation(m)
	}
	m.over = &r
	return nil
}

// filesLandmark is the word for a state of files; empty: nobody need see it.
func filesLandmark(s *history.State) string {
	switch {
	case s == nil:
		return ""
	case s.None != "":
		return "the files are not kept: " + s.None
	case s.When == history.AfterRestore:
		return count(int(s.Changed), "file") + " restored"
	case s.When == history.AfterCalls && s.Changed > 0:
		return count(int(s.Changed), "file") + " changed · /diff shows them, /undo takes them back"
	}
	return ""
}

func (r *rewinding) lines() []string { return planLines(r.plan) }

// planLines lists what a restore would do, a line for each file.
func planLines(plan public.Restore) []string {
	trashed := map[string]string{}
	for _, t := range plan.Trashed {
		trashed[t.Path] = "  (the present content goes to the trash)"
	}
	var out []string
	for _, p := range plan.Restored {
		out = append(out, "restore  "+line(p, 300)+trashed[p])
	}
	for _, p := range plan.Removed {
		out = append(out, "remove   "+line(p, 300)+trashed[p])
	}
	for _, k := range plan.Kept {
		out = append(out, "keep     "+line(k.Path, 300)+"  ("+line(k.Why, 100)+")")
	}
	return out
}

// undo takes back what the last turn did to files, when a person has seen what that is.
func (m *root) undo(title string, a id.Agent) tea.Cmd {
	workspace, ctx := m.workspace, m.ctx
	return func() tea.Msg {
		in := operation.UndoInput{Agent: operation.AgentRef(a)}
		in.DryRun = true
		plan, err := operation.Undo.Call(ctx, workspace, in)
		return undoMsg{title, a, plan, err}
	}
}

type undoMsg struct {
	title string
	agent id.Agent
	plan  public.Restore
	err   error
}

func (m *root) undoPlanned(msg undoMsg) tea.Cmd {
	if msg.err != nil {
		return m.tell(bad, explain(msg.err))
	}
	lines := planLines(msg.plan)
	if len(lines) == 0 {
		return m.tell(good, "the files are as they were")
	}
	m.over = m.restoring(msg.title, msg.agent, "Undo what the last turn did to files?\n"+strings.Join(lines, "\n"), msg.plan,
		&operation.Undo, func(o operation.RestoreOptions) any {
			return &operation.UndoInput{Agent: operation.AgentRef(msg.agent), RestoreOptions: o}
		})
	return nil
}

// restoring asks whether to restore files. Those that changed while a command of the agent was
// running are restored too if the answer is yes: the question says so, and they can be kept.
func (m *root) restoring(title string, a id.Agent, text string, plan public.Restore, o operation.Operation, input func(operation.RestoreOptions) any) confirm {
	run := func(options operation.RestoreOptions) func() tea.Cmd {
		return func() tea.Cmd { return m.alter(a, m.operate(title, o, input(options))) }
	}
	if len(operation.ChangedDuring(plan)) == 0 {
		return confirm{text: text, yes: run(operation.RestoreOptions{})}
	}
	return confirm{text: text + "\nFiles that changed while a command was running may hold edits of yours. Yes restores them too.",
		yes: run(operation.RestoreOptions{Commands: new(true)}), keep: run(operation.RestoreOptions{Commands: new(false)})}
}

func (r *rewinding) scroll(n int) { r.at = max(0, min(r.at+n, len(r.lines())-r.high)) }

func (r *rewinding) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc", "q", "n":
		m.over = nil
	case "up", "k":
		r.scroll(-1)
	case "down", "j":
		r.scroll(1)
	case "pgup":
		r.scroll(-r.high)
	case "pgdown":
		r.scroll(r.high)
	case "c":
		m.over = nil
		return r.conversation(m)
	case "b":
		return r.restore(m, &operation.Rewind, func(o operation.RestoreOptions) any {
			both := r.to
			both.Files, both.RestoreOptions = true, o
			return &both
		})
	case "f":
		return r.restore(m, &operation.Restore, func(o operation.RestoreOptions) any {
			return &operation.RestoreInput{Agent: operation.AgentRef(r.agent), At: r.plan.State.ID, RestoreOptions: o}
		})
	}
	return nil
}

// restore restores the files. It asks about those that changed while a command was running.
func (r *rewinding) restore(m *root, o operation.Operation, input func(operation.RestoreOptions) any) tea.Cmd {
	doubtful := operation.ChangedDuring(r.plan)
	for i := range doubtful {
		doubtful[i] = line(doubtful[i], 300)
	}
	ask := m.restoring(r.title, r.agent, "These files changed while a command was running:\n"+strings.Join(doubtful, "\n"), r.plan, o, input)
	if len(doubtful) == 0 {
		m.over = nil
		return ask.yes()
	}
	m.over = ask
	return nil
}

func (r *rewinding) view(m *root, w, h int) []string {
	lines := r.lines()
	r.high = max(1, min(len(lines), h-3))
	r.scroll(0)
	out := []string{headline("go back: "+r.title, w)}
	for _, l := range lines[r.at:min(len(lines), r.at+r.high)] {
		out = append(out, " "+cut(clean(l), w-1))
	}
	if more := len(lines) - r.at - r.high; more > 0 {
		out = append(out, faint.of(cut(fmt.Sprintf(" … %d more (↓)", more), w)))
	}
	return append(out, cut(accented.of("c")+" conversation   "+accented.of("f")+" files   "+accented.of("b")+" both   "+faint.of("Esc neither"), w))
}
