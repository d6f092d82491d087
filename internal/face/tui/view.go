package tui

import (
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
)

func (m *root) draw() drawing {
	d := drawing{width: m.w}
	if m.hall.on {
		d.lines, d.x, d.y = m.drawHome()
	} else {
		d.lines, d.x, d.y = m.drawTalk()
	}
	d.lines = slices.Clone(d.lines[:min(len(d.lines), m.h)])
	if m.theme.Clear {
		for i, l := range d.lines {
			d.lines[i] = unfaint(l)
		}
	}
	return d
}

// drawTalk draws a conversation, and what is about it.
func (m *root) drawTalk() (lines []string, x, y int) {
	w, h := max(m.w, 10), max(m.h, 4)
	typing, x, y := m.now.input.view(w-2, max(1, min(10, h/3)))
	bottom := append([]string{m.separator(w)}, prompted(typing)...)
	bottom = append(bottom, m.status(w))
	room := h - len(bottom)
	above := m.above(w, room)
	room -= len(above)
	lines = append(m.middle(w, room), above...)
	y += len(lines) + 1
	lines = append(lines, bottom...)
	if _, typing := m.over.(*box); m.over != nil && !typing || m.search.on {
		y = -1
	}
	if q := m.asking(); q != nil && q.Stage != Choosing {
		y = -1
	}
	return fill(lines, h), x + 2, y
}

// above are the lines just above the separator: what is asked, offered, waited for. Of h lines that there
// are for it and the conversation, one stays the conversation's, unless somebody asks.
func (m *root) above(w, h int) []string {
	if q := m.question(); q != nil && m.over == nil {
		return m.aboveAsked(q, w, h)
	}
	out := m.told(w)
	return out[max(0, len(out)-max(0, h-1)):]
}

// aboveAsked is a question and what is news beside it. Where there is little room the question has it.
func (m *root) aboveAsked(q *asked, w, h int) []string {
	var below []string
	if m.note.text != "" && m.note.style == bad { // other news can wait
		below = m.note.lines(w)
	}
	if m.search.on {
		below = append(below, m.search.view(w))
	}
	below = below[max(0, len(below)-max(0, h-minAsked)):]
	queued := m.queued(w)
	room := min(max(minAsked, m.h*2/3-len(queued)), max(1, h-len(below)))
	out := append(append(queued, q.view(m, w, room)...), below...)
	return out[max(0, len(out)-h):]
}

// queued are what was typed while the agent worked.
func (m *root) queued(w int) []string {
	var out []string
	for i, q := range m.now.waiting() {
		if i == 3 {
			return append(out, faint.of(fmt.Sprintf("  … %d more", len(m.now.waiting())-3)))
		}
		out = append(out, faint.of(cut("⏎ "+line(q, w-12)+" (queued)", w)))
	}
	return out
}

// told is what stands above the separator where nobody asks.
func (m *root) told(w int) []string {
	if b, ok := m.over.(*box); ok {
		return b.view(m, w, m.h*2/3)
	}
	out := m.queued(w)
	if l := m.progress(w); l != "" {
		out = append(out, l)
	}
	if m.note.text != "" {
		out = append(out, m.note.lines(w)...)
	}
	if m.search.on {
		out = append(out, m.search.view(w))
	}
	if m.tour.on && m.over == nil && !m.offer.shown() {
		out = append(out, m.tour.view(w)...)
	}
	if m.offer.shown() && m.over == nil {
		out = append(out, m.offer.view(w, m.h/2)...)
	}
	return out
}

var spinner = []string{"◐", "◓", "◑", "◒"}

func (m *root) progress(w int) string {
	s := m.now
	a, ok := m.agent()
	if !ok {
		return ""
	}
	word, st := m.state(a)
	if s.barrier != nil {
		return warn.of(cut(spinner[m.frame%4]+" The fork is waiting for running tools · Esc cancels", w))
	}
	if m.needsKey(s) && !s.stopping {
		return warn.of(line(m.agents.States[a.ID].String()+". Press Enter to resume with your key, or Esc to stop.", w))
	}
	if m.busy(s) || s.stopping {
		doing := spinner[m.frame%4] + " " + word
		if !s.live.since.IsZero() {
			doing += " " + text.Age(m.o.Now().Sub(s.live.since))
		}
		if s.live.note != "" {
			doing += " · " + s.live.note
		}
		return st.of(line(doing, w-14)) + faint.of(" · Esc stops")
	}
	now := m.agents.States[a.ID]
	switch {
	case a.Status == agent.Dead:
		return faint.of(line(now.String()+", "+text.Age(m.o.Now().Sub(a.EndedAt))+" ago. You can read it, but it can't receive messages.", w))
	case now.Word == state.Interrupted:
		return warn.of(cut("Interrupted. Press Enter to resume, or type a new message.", w))
	case now.Word == state.Failed:
		return bad.of(line(now.String(), w))
	case now.Word == state.Idle || now.Word == state.Done || now.Word == "":
		return ""
	}
	return st.of(line(word, w))
}

// middle is the conversation, what is in front of it, and the tree.
func (m *root) middle(w, h int) []string {
	m.hits = nil
	if h <= 0 {
		return nil
	}
	if _, small := m.over.(*box); m.over != nil && !small {
		return fill(m.over.view(m, w, h), h)
	}
	side := 0
	if m.memory.Tree {
		if side = max(38, min(46, w*2/5)); w < treeBeside {
			return fill(m.tree(w, h), h)
		}
	}
	body := m.conversation(w-side, h)
	if side == 0 {
		return body
	}
	tree := fill(m.tree(side-2, h), h)
	for i := range body {
		body[i] = fit(body[i], w-side) + faint.of("│ ") + tree[i]
	}
	return body
}

// treeBeside is from how many columns on the tree stands beside the conversation; below, it covers it.
const treeBeside = 84

func fill(lines []string, h int) []string {
	for len(lines) < h {
		lines = append(lines, "")
	}
	return lines[:h]
}

func (m *root) conversation(w, h int) []string {
	s := m.now
	s.theme, s.finding = m.theme, m.search.on
	if fresh := s.transcript.read && len(s.visible()) == 0 || !s.transcript.read && m.agents == nil; fresh {
		s.width, s.height = w, h
		return fill(m.welcome(w), h)
	}
	if !s.transcript.read {
		return fill([]string{faint.of("Reading…")}, h)
	}
	lines, hits := s.draw(w, h)
	if m.search.on {
		lines = append([]string(nil), lines...)
		m.search.mark(lines)
	}
	if s.at != nil && len(lines) > 0 {
		lines = append([]string(nil), lines...)
		lines[len(lines)-1] = faint.of(fit("↓ more below · PgDn scroll · Ctrl+End end", w))
	}
	m.hits = hits
	return fill(lines, h)
}

// separator says where you are.
func (m *root) separator(w int) string {
	a, ok := m.agent()
	if !ok {
		return faint.of(strings.Repeat("─", w))
	}
	word, st := m.state(a)
	var right []string
	if a.Unread > 0 {
		right = append(right, warn.of(fmt.Sprintf("✉ %d", a.Unread)))
	}
	right = append(right, st.of(word))
	if a.Spent.Tokens > 0 {
		right = append(right, faint.of(tokens(a.Spent.Tokens)), faint.of(cost(a)))
	}
	facts := " " + strings.Join(right, faint.of(" · ")) + " " + faint.of("─")
	if width(facts) > w/2 {
		facts = " " + st.of(word) + " "
	}
	room := w - width(facts)
	where := m.where(a, room)
	gap := max(0, room-width(where))
	return cut(where+faint.of(strings.Repeat("─", gap))+facts, w)
}

// where is the part of the separator with the neighbours; they go first where there
// is no room.
func (m *root) where(a agent.Agent, room int) string {
	c := m.agents
	children := c.children(a.ID)
	up, hasUp := c.up(a.ID)
	prev, hasPrev := c.beside(a.ID, -1)
	next, hasNext := c.beside(a.ID, 1)
	for _, most := range []int{24, 12, 6, 0} {
		name := func(arrow string, who id.Agent, ok bool) string {
			if !ok {
				return faint.of(arrow)
			}
			return accent.of(arrow) + cut(c.label(who), most)
		}
		below := faint.of("↓")
		if len(children) > 0 {
			below = accent.of("↓") + fmt.Sprint(len(children))
		}
		s := faint.of("─ ") + name("↑", up, hasUp) + " " + name("←", prev, hasPrev) + " " +
			bold.of("["+cut(a.Label(), max(most, 8))+"]") + " " + name("→", next, hasNext) + " " + below + " "
		if width(s) <= room || most == 0 {
			return cut(s, room)
		}
	}
	return ""
}

func (m *root) status(w int) string {
	if m.workspace == nil {
		return faint.of(fit("Opening the workspace… you can start typing.", w))
	}
	var parts []string
	model, ok := m.models[m.now.agent]
	switch {
	case !ok:
	case model.err != nil:
		parts = append(parts, bad.of("no model: "+line(model.err.Error(), w/2)))
	default:
		parts = append(parts, line(model.Ref.String(), 40))
	}
	if call := m.now.call; call != nil {
		if used := call.Tokens(); model.Context > 0 {
			parts = append(parts, fmt.Sprintf("context %d%%", min(100, used*100/model.Context)))
		} else {
			parts = append(parts, "context "+tokens(used))
		}
	}
	if a, ok := m.agent(); ok {
		parts = append(parts, cost(a))
	}
	if mode := m.now.mode; mode != "" {
		parts = append(parts, modeStyle(mode).of(mode.Title()))
	}
	if own := m.programMode(); own != "" {
		parts = append(parts, faint.of(own))
	}
	if m.agents != nil {
		if from := m.agents.States[m.now.agent].Foreign; from != "" {
			parts = append(parts, warn.of("read "+line(from, 40)))
		}
	}
	if n := len(m.questions); n > 0 && m.question() == nil {
		parts = append(parts, warn.of(text.Count(n, "question")+": Ctrl+P"))
	}
	return spread(faint.of(" ")+strings.Join(parts, faint.of(" · ")), faint.of("F1 help "), w)
}
