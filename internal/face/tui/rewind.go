package tui

import (
	"encoding/json"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/files"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
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

// undoChange takes back what the last turn did to files, when a person has seen what that is.
func (m *root) undo(title, me string) tea.Cmd {
	workspace, ctx := m.workspace, m.ctx
	return func() tea.Msg {
		msg := undoMsg{title: title, agent: me}
		text, err := workspace.Command(ctx, "undo", me, "--dry-run", "--json")
		if err == nil {
			err = json.Unmarshal([]byte(text), &msg.plan)
		}
		msg.err = err
		return msg
	}
}

type undoMsg struct {
	title, agent string
	plan         public.Restore
	err          error
}

func (m *root) undoPlanned(msg undoMsg) tea.Cmd {
	if msg.err != nil {
		return m.tell(bad, explain(msg.err))
	}
	lines := planLines(msg.plan)
	if len(lines) == 0 {
		return m.tell(good, "the files are as they were")
	}
	m.over = m.restoring(msg.title, id.Agent(msg.agent), "Undo what the last turn did to files?\n"+strings.Join(lines, "\n"), msg.plan,
		func(flags ...string) []string { return append(append([]string{"undo"}, flags...), msg.agent) })
	return nil
}

// restoring asks whether to restore files. Those that changed while a command of the agent was
// running are restored too if the answer is yes: the question says so, and they can be kept.
func (m *root) restoring(title string, a id.Agent, text string, plan public.Restore, args func(flags ...string) []string) confirm {
	run := func(flags ...string) func() tea.Cmd {
		return func() tea.Cmd { return m.alter(a, m.run(title, args(flags...)...)) }
	}
	if len(changedDuring(plan)) == 0 {
		return confirm{text: text, yes: run()}
	}
	return confirm{text: text + "\nFiles that changed while a command was running may hold edits of yours. Yes restores them too.",
		yes: run("--commands"), keep: run("--commands=false")}
}

// changedDuring lists the files that a plan keeps because they changed while a command was running.
func changedDuring(plan public.Restore) []string {
	var out []string
	for _, k := range plan.Kept {
		if k.Why == files.Running {
			out = append(out, line(k.Path, 300))
		}
	}
	return out
}

// messages are the ids of a command, as arguments.
func messages(c session.Command) []string {
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
		return r.restore(m, func(flags ...string) []string { return r.args(append([]string{"rewind", "--files"}, flags...)...) })
	case "f":
		return r.restore(m, func(flags ...string) []string {
			return append(append([]string{"restore"}, flags...), string(r.agent), r.plan.State.ID.String())
		})
	}
	return nil
}

// restore restores the files. It asks about those that changed while a command was running.
func (r *rewinding) restore(m *root, args func(flags ...string) []string) tea.Cmd {
	doubtful := changedDuring(r.plan)
	ask := m.restoring(r.title, r.agent, "These files changed while a command was running:\n"+strings.Join(doubtful, "\n"), r.plan, args)
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
