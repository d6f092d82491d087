package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
)

// timeline is the lineage of an agent as a graph: newest at the bottom.
type timeline struct {
	agent  id.Agent
	points []Point
	rows   []string
	at     int
	high   int
	err    error
}

type timelineMsg struct {
	agent  id.Agent
	points []Point
	err    error
}

func (m *root) openTimeline() tea.Cmd {
	if m.workspace == nil {
		return m.tell(faint, "The workspace is still opening.")
	}
	m.over = &timeline{agent: m.now.agent}
	workspace, ctx, a := m.workspace, m.ctx, m.now.agent
	return func() tea.Msg {
		points, err := workspace.Timeline(ctx, a)
		return timelineMsg{a, points, err}
	}
}

func (msg timelineMsg) apply(m *root) tea.Cmd {
	t, ok := m.over.(*timeline)
	if !ok || t.agent != msg.agent {
		return nil
	}
	t.points, t.err = msg.points, msg.err
	t.rows = graph(m, msg.points)
	t.at = max(0, len(t.points)-1)
	return nil
}

// graph draws a line for each point: one column for each generation.
func graph(m *root, points []Point) []string {
	depth := map[id.Agent]int{}
	rows := make([]string, len(points))
	for i, p := range points {
		if _, ok := depth[p.Agent]; !ok {
			depth[p.Agent] = len(depth)
		}
		d := min(depth[p.Agent], 8)
		bars := strings.Repeat("│ ", d)
		mark := "●"
		switch p.Kind {
		case history.Fork:
			mark = "├→"
			if i == 0 || points[i-1].Agent != p.Agent {
				mark = "○"
			}
		case history.Mark:
			mark = "◆"
		case history.Clear:
			mark = "═"
		case history.Rewind:
			mark = "↶"
		case history.Compact:
			mark = "▣"
		}
		if i > 0 && points[i-1].Agent != p.Agent {
			bars = strings.Repeat("│ ", d-1) + "╰─"
		}
		word := string(p.Kind)
		if p.Kind == history.User || p.Kind == history.Fork && mark == "○" {
			word = ""
		}
		row := strings.Join(strings.Fields(mark+" "+word+" "+text.Line(p.Text, 400)), " ")
		if p.Head {
			row += "  ← now"
		}
		rows[i] = fmt.Sprintf("%7d %s%s", p.ID, bars, row)
	}
	return rows
}

func (t *timeline) scroll(n int) { t.at = max(0, min(t.at+n, len(t.points)-1)) }

func (t *timeline) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "esc" || name == "q" || name == "ctrl+l" {
		m.over = nil
		return nil
	}
	t.scroll(stepOf(name, t.high))
	if t.at >= len(t.points) {
		return nil
	}
	p := t.points[t.at]
	switch name {
	case "f":
		m.over = nil
		return m.forkNow(operation.ForkInput{Agent: operation.AgentRef(t.agent), At: p.ID}, m.now.model, "fork")
	case "r":
		m.ask(fmt.Sprintf("Rewind to message %d? Nothing is deleted. You will be asked about files.", p.ID), cancel, option{"", "Rewind", func() tea.Cmd {
			return m.rewind(fmt.Sprintf("/rewind %d", p.ID), t.agent, operation.RewindInput{To: p.ID})
		}})
	case "enter":
		m.over = nil
		return m.readAt(p)
	}
	return nil
}

func (m *root) readAt(p Point) tea.Cmd {
	s := m.now
	s.at, m.dirty = &position{Entry: p.ID}, true
	if p.ID >= s.first() || !s.more {
		return nil
	}
	// It stands on an older page: read up to it.
	workspace, ctx, a, from := m.workspace, m.ctx, s.agent, s.first()
	if s.loading {
		return nil
	}
	s.loading = true
	return func() tea.Msg { return readBack(ctx, workspace, a, from, p.ID) }
}

// readBack reads pages until one holds an entry.
func readBack(ctx context.Context, workspace Workspace, a id.Agent, from, to id.Message) tea.Msg {
	var all Page
	for {
		page, err := workspace.Page(ctx, a, Span{Before: from, Limit: 8 * pageSize})
		if err != nil {
			return pageMsg{agent: a, err: err}
		}
		all.Entries, all.More = append(page.Entries, all.Entries...), page.More
		if !page.More || len(page.Entries) == 0 || page.Entries[0].ID <= to {
			return pageMsg{a, Span{Before: from}, all, nil}
		}
		from = page.Entries[0].ID
	}
}

func (t *timeline) view(m *root, w, h int) []string {
	t.high = max(1, h-2)
	var out []string
	switch {
	case t.err != nil:
		out = append(out, bad.of(line(explain(t.err), w)))
	case t.points == nil:
		out = append(out, faint.of("Reading…"))
	}
	from := max(0, min(t.at-t.high/2, len(t.rows)-t.high))
	for i := from; i < len(t.rows) && i < from+t.high; i++ {
		p := t.points[i]
		right := ""
		if w >= 60 {
			right = faint.of(line(p.Label, 24))
		}
		l := spread(cut(clean(t.rows[i]), w), right, w)
		switch {
		case i == t.at:
			l = reverse.of(fit(strip(l), w))
		case p.Gone:
			l = faint.of(strip(l))
		}
		out = append(out, l)
	}
	return framed("lineage of "+m.agents.label(t.agent), out, "Enter read · f fork here · r rewind here · Esc close", w, h)
}

// rewinding is a rewind that was asked for, and what it would do to files.
type rewinding struct {
	agent id.Agent
	title string // the command, as it was typed
	to    operation.RewindInput
	plan  public.Restore
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

// apply asks whether to rewind the conversation, the files or both; without changed files it rewinds at once.
func (msg rewindMsg) apply(m *root) tea.Cmd {
	r := msg.rewinding
	lines := planLines(r.plan)
	if msg.err != nil || len(lines) == 0 {
		return r.conversation(m)
	}
	m.ask(joinLines("Rewind ("+r.title+")?", lines), cancel,
		option{"", "Rewind the conversation", func() tea.Cmd { return r.conversation(m) }},
		option{"", "Restore the files", func() tea.Cmd {
			return r.restore(m, &operation.Restore, func(o operation.RestoreOptions) any {
				return &operation.RestoreInput{Agent: operation.AgentRef(r.agent), At: r.plan.State.ID, RestoreOptions: o}
			})
		}},
		option{"", "Both", func() tea.Cmd {
			return r.restore(m, &operation.Rewind, func(o operation.RestoreOptions) any {
				both := r.to
				both.Files, both.RestoreOptions = true, o
				return &both
			})
		}})
	return nil
}

// filesLandmark returns the word for a state of files; empty: it is not shown.
func filesLandmark(s *history.State) string {
	switch {
	case s == nil:
		return ""
	case s.None != "":
		return "files are not saved: " + s.None
	case s.When == history.AfterRestore:
		return text.Count(int(s.Changed), "file") + " restored"
	case s.When == history.AfterCalls && s.Changed > 0:
		return text.Count(int(s.Changed), "file") + " changed · /diff shows them, /undo restores them"
	}
	return ""
}

// planLines lists what a restore would do, a line for each file.
func planLines(plan public.Restore) []string {
	trashed := map[string]string{}
	for _, t := range plan.Trashed {
		trashed[t.Path] = "  (the current content moves to the trash)"
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

func (msg undoMsg) apply(m *root) tea.Cmd {
	if msg.err != nil {
		return m.tell(bad, explain(msg.err))
	}
	lines := planLines(msg.plan)
	if len(lines) == 0 {
		return m.tell(good, "Nothing to restore: the files are unchanged.")
	}
	m.restoring(msg.title, msg.agent, joinLines("Restore the files to their state before the last turn?", lines), msg.plan, &operation.Undo, func(o operation.RestoreOptions) any {
		return &operation.UndoInput{Agent: operation.AgentRef(msg.agent), RestoreOptions: o}
	})
	return nil
}

// restoring asks whether to restore files. Those that changed while a command of the agent was running may hold a person's
// edits: they can be kept.
func (m *root) restoring(title string, a id.Agent, text string, plan public.Restore, o operation.Operation, input func(operation.RestoreOptions) any) {
	restore := func(label string, options operation.RestoreOptions) option {
		return option{"", label, func() tea.Cmd { return m.alter(a, m.operate(title, o, input(options))) }}
	}
	if len(operation.ChangedDuring(plan)) == 0 {
		m.ask(text, cancel, restore("Restore", operation.RestoreOptions{}))
		return
	}
	m.ask(text+"\nFiles that changed while a command was running may contain edits of yours.", cancel,
		restore("Restore all of them", operation.RestoreOptions{Commands: new(true)}),
		restore("Keep files that changed while a command was running", operation.RestoreOptions{Commands: new(false)}))
}

// restore restores the files. It asks about those that changed while a command was running.
func (r *rewinding) restore(m *root, o operation.Operation, input func(operation.RestoreOptions) any) tea.Cmd {
	doubtful := operation.ChangedDuring(r.plan)
	if len(doubtful) == 0 {
		return m.alter(r.agent, m.operate(r.title, o, input(operation.RestoreOptions{})))
	}
	for i := range doubtful {
		doubtful[i] = line(doubtful[i], 300)
	}
	m.restoring(r.title, r.agent, joinLines("These files changed while a command was running:", doubtful), r.plan, o, input)
	return nil
}
