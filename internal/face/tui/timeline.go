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
