package tui

import (
	"encoding/json"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/command"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/public"
)

// rewinding asks what is to go back: the conversation, the files, or both. It shows what would
// happen to the files.
type rewinding struct {
	agent id.Agent
	title string   // the command, as it was typed
	to    []string // where to, as arguments of rewind
	plan  public.Restore
	at    int
	high  int
}

type rewindMsg struct {
	rewinding
	err error
}

// rewind goes back to a place. Where that would change files, it is asked what is meant.
func (m *root) rewind(title string, a id.Agent, to ...string) tea.Cmd {
	workspace, ctx := m.workspace, m.ctx
	return m.alter(a, func() tea.Msg {
		r := rewinding{agent: a, title: title, to: to}
		text, err := workspace.Command(ctx, r.args("rewind", "--files", "--dry-run", "--json")...)
		if err == nil {
			err = json.Unmarshal([]byte(text), &r.plan)
		}
		return rewindMsg{r, err}
	})
}

// args is a command line that goes where it is asked to go.
func (r rewinding) args(line ...string) []string {
	if len(r.to) == 2 && r.to[0] == "--to" {
		return append(append(line, r.to...), string(r.agent))
	}
	return append(append(line, "--", string(r.agent)), r.to...)
}

// rewindPlanned asks, or goes back at once where there is nothing to choose.
func (m *root) rewindPlanned(msg rewindMsg) tea.Cmd {
	r := msg.rewinding
	if p := r.plan; msg.err != nil || len(p.Restored)+len(p.Removed)+len(p.Kept) == 0 {
		return m.alter(r.agent, m.quiet(r.title, r.args("rewind")...))
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

func (r *rewinding) lines() []string {
	var out []string
	for _, p := range r.plan.Restored {
		out = append(out, "restore  "+line(p, 300))
	}
	for _, p := range r.plan.Removed {
		out = append(out, "remove   "+line(p, 300))
	}
	for _, k := range r.plan.Kept {
		out = append(out, "keep     "+line(k.Path, 300)+"  ("+line(k.Why, 100)+")")
	}
	return out
}

// undo takes back what the last turn did to files, when a person has seen what that is.
func (m *root) undo(title, me string) tea.Cmd {
	workspace, ctx := m.workspace, m.ctx
	return func() tea.Msg {
		plan, err := workspace.Command(ctx, "undo", me, "--dry-run")
		return undoMsg{title: title, agent: me, plan: plan, err: err}
	}
}

type undoMsg struct {
	title, agent, plan string
	err                error
}

func (m *root) undoPlanned(msg undoMsg) tea.Cmd {
	if msg.err != nil {
		return m.tell(bad, explain(msg.err))
	}
	m.over = confirm{text: "Undo what the last turn did to files?\n" + msg.plan, yes: func() tea.Cmd { return m.alter(id.Agent(msg.agent), m.run(msg.title, "undo", msg.agent)) }}
	return nil
}

// messages are the ids of a command, as arguments.
func messages(c command.Command) []string {
	if c.At == nil {
		return nil
	}
	return []string{c.At.String()}
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
		return m.alter(r.agent, m.quiet(r.title, r.args("rewind")...))
	case "b":
		m.over = nil
		return m.alter(r.agent, m.run(r.title, r.args("rewind", "--files")...))
	case "f":
		m.over = nil
		return m.alter(r.agent, m.run(r.title, "restore", string(r.agent), r.plan.State.ID.String()))
	}
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
