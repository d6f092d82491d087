package tui

import (
	"fmt"
	"path/filepath"
	"strings"

	"ramet/internal/base/text"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
)

// previewFrom is from how many columns on the agent under the cursor is shown beside the list.
const previewFrom = 120

// home draws Home: exactly h lines, and where the cursor stands.
func (m *root) drawHome() (lines []string, x, y int) {
	w, h := max(m.w, 10), max(m.h, 4)
	l := &m.hall
	typing, x, y := m.homeLine(w)
	bottom := append([]string{faint.of(strings.Repeat("─", w))}, typing...)
	bottom = append(bottom, m.homeFoot(w))
	top := []string{m.homeHead(w)}
	if m.asking() != nil && h-len(bottom) < minAsked { // what is asked comes before where one is
		top = nil
	}
	room := h - len(top) - len(bottom)
	var above []string
	switch {
	case m.over != nil:
		if b, ok := m.over.(*box); ok {
			above = b.view(m, w, h/2)
		}
	case l.line:
		above = m.above(w, room)
	case m.note.text != "":
		above = m.note.lines(w)
	}
	if !l.line || m.over != nil {
		above = above[max(0, len(above)-max(0, room-1)):]
	}
	room = max(0, room-len(above))
	var middle []string
	if _, small := m.over.(*box); m.over != nil && !small {
		middle = m.over.view(m, w, room)
	} else {
		middle = m.homeMiddle(w, room)
	}
	lines = append(append(top, fill(middle, room)...), above...)
	y += len(lines) + 1
	lines = append(lines, bottom...)
	if !l.line && !l.filtering || m.over != nil {
		y = -1
	}
	return fill(lines, h), x, y
}

// homeHead is the first line: where one is, who asks, who works, what it costs.
func (m *root) homeHead(w int) string {
	t := m.hall.table
	left := accented.of(" ramet") + "  " + bold.of(line(filepath.Base(m.o.Project), 24))
	parts := []string{text.Count(t.Agents, "agent")}
	if t.Asking > 0 {
		parts = append(parts, warn.of(fmt.Sprintf("%d asking", t.Asking)))
	}
	if n := t.Counts[public.NeedsYou] - t.Asking; n > 0 {
		parts = append(parts, bad.of(fmt.Sprintf("%d stopped", n)))
	}
	if n := t.Counts[public.Working]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d working", n))
	}
	right := strings.Join(parts, faint.of(" · ")) + "   " + money(llm.Money(t.Spent.Cost))
	if most, ok := t.Budget.Cost.Get(); ok {
		right += " of " + money(llm.Money(most))
	}
	return spread(left, right+" ", w)
}

// homeMiddle is the list, and from many columns on the preview beside it.
func (m *root) homeMiddle(w, h int) []string {
	l := &m.hall
	side := 0
	if m.previews() {
		side = max(42, min(90, w*2/5))
	}
	one := 0 // the preview of a narrow screen is one line
	if side == 0 && h > 6 {
		one = 1
	}
	list := m.homeList(w-side, h-one)
	if one > 0 {
		list = append(fill(list, h-one), m.homeAbout(w))
	}
	if side == 0 {
		return list
	}
	preview := fill(m.preview(side-2, h), h)
	list = fill(list, h)
	for i := range list {
		list[i] = fit(list[i], w-side) + faint.of("│ ") + preview[i]
	}
	l.high = h
	return list
}

func (m *root) previews() bool { return m.w >= previewFrom && !m.hall.closed }

func (m *root) homeAbout(w int) string {
	r, ok := m.hall.row()
	if !ok {
		return ""
	}
	parts := []string{r.Name}
	if up, ok := m.agents.get(r.Parent); ok {
		parts[0] += " child of " + up.Label()
	}
	if r.Change.Branch != "" {
		parts = append(parts, r.Change.Branch)
	}
	if r.Asked != "" {
		parts = append(parts, "“"+r.Asked+"”")
	}
	return faint.of(line(" "+strings.Join(parts, " · "), w))
}

func (m *root) homeList(w, h int) []string {
	l := &m.hall
	l.high = max(1, h)
	if len(l.lines) == 0 {
		if l.filter != "" {
			return []string{"", faint.of("  No agent matches " + line(l.filter, 40) + " · Esc shows all")}
		}
		return []string{"", faint.of("  Reading…")}
	}
	at := l.cursor()
	first := at // a head is shown with its first row
	if first > 0 && l.lines[first-1].row < 0 {
		first--
	}
	l.top = max(0, min(l.top, len(l.lines)-h, first))
	if at >= l.top+h {
		l.top = at - h + 1
	}
	c := columnsOf(w, l, m.w >= wide)
	var out []string
	for i := l.top; i < len(l.lines) && len(out) < h; i++ {
		out = append(out, m.homeRow(l.lines[i], i == at, c))
	}
	return out
}

// columns are how wide the parts of a row are; 0: there is no room for it.
type columns struct{ all, name, does, text, asked, model, cost, age, change int }

// wide is the terminal from which on rows also tell what changed and by which model.
const wide = 100

// columnsOf shares the room out: who, what, cost and age first, and in a wide terminal what changed, then
// the model.
func columnsOf(w int, l *hall, wide bool) columns {
	longest, cost, change := 8, 5, 0
	for i := l.top; i < len(l.lines) && i < l.top+l.high; i++ {
		if r := l.lines[i].row; r >= 0 {
			longest = max(longest, width(rowName(l.table.Rows[r], 0)))
			cost = max(cost, width(money(llm.Money(l.table.Rows[r].Spent.Cost))))
			change = max(change, width(changeOf(l.table.Rows[r].Change)))
		}
	}
	c := columns{all: w, name: min(longest, max(14, w/4)), does: 11, cost: min(cost, 8), age: 5}
	c.text = w - 2 - c.name - c.does - c.cost - c.age - 3
	for _, more := range []struct {
		into        *int
		takes, left int
	}{{&c.change, min(change, 12), 17}, {&c.model, 17, 26}} {
		if wide && more.takes > 0 && c.text-more.takes-1 >= more.left {
			*more.into = more.takes
			c.text -= more.takes + 1
		}
	}
	if c.text >= 64 {
		c.asked = c.text * 2 / 5
		c.text -= c.asked + 1
	}
	return c
}

// rowName is the place in the tree, the name and the mail of a row; most 0: whatever it takes.
func rowName(r public.HomeEntry, most int) string {
	branch := ""
	if r.Indent > 0 {
		branch = strings.Repeat("  ", min(r.Indent-1, 6)) + map[bool]string{false: "├ ", true: "└ "}[r.Last]
	}
	mail := ""
	if r.Unread > 0 {
		mail = fmt.Sprintf(" ✉ %d", r.Unread)
	}
	name := r.Name
	if r.Folded > 0 {
		name += fmt.Sprintf(" +%d", r.Folded)
	}
	path := ""
	if len(r.Path) > 0 {
		path = strings.Join(r.Path, " › ") + " › "
	}
	if most == 0 {
		return branch + path + name + mail
	}
	room := most - width(branch) - width(mail)
	if over := width(path+name) - room; over > 0 { // the path goes first
		if path = cut(path, max(0, width(path)-over-2)); path != "" {
			path += "› "
		}
	}
	return faint.of(branch+path) + bold.of(line(name, room-width(path))) + warn.of(mail)
}

func (m *root) homeRow(l homeLine, here bool, c columns) string {
	mark := "  "
	if here {
		mark = accented.of("▌ ")
	}
	if l.row < 0 {
		if l.folded == 0 {
			return headStyle(l.group).of(fit(" "+string(l.group), c.all))
		}
		text := mark + faint.of(fmt.Sprintf("… %d more · Enter shows them", l.folded))
		if here {
			return reverse.of(fit(strip(text), c.all))
		}
		return fit(text, c.all)
	}
	r := m.hall.table.Rows[l.row]
	parts := []string{fit(rowName(r, c.name), c.name), tone(r.State).of(fit(r.Does, c.does))}
	said, asked := m.said(r), r.Asked
	if r.Run != nil {
		said = fmt.Sprintf("%s %d of %d", r.Run.State, r.Run.Done, r.Run.Of)
	}
	if c.asked > 0 {
		parts = append(parts, fit(line(asked, c.asked), c.asked))
	} else if said == "" {
		said = asked
	}
	parts = append(parts, fit(line(said, c.text), c.text))
	if c.model > 0 {
		model := r.Model
		if r.Driver != "" {
			model = r.Driver
		}
		parts = append(parts, faint.of(fit(line(model, c.model), c.model)))
	}
	parts = append(parts, right(money(llm.Money(r.Spent.Cost)), c.cost)+right(text.Age(m.o.Now().Sub(r.Since)), c.age))
	if c.change > 0 {
		parts = append(parts, fit(changeOf(r.Change), c.change))
	}
	text := strings.Join(parts, " ")
	if here && !m.hall.line {
		return mark + reverse.of(fit(strip(text), c.all-2))
	}
	return mark + fit(text, c.all-2)
}

func headStyle(g public.HomeSection) style {
	if g == public.NeedsYou {
		return warn
	}
	return faint
}

// changeOf is what a worktree holds: lines, or, where nothing is counted, files.
func changeOf(c public.HomeChange) string {
	switch {
	case c.Added > 0 || c.Removed > 0:
		return good.of(fmt.Sprintf("+%d", c.Added)) + " " + bad.of(fmt.Sprintf("−%d", c.Removed))
	case c.Files > 0:
		return fmt.Sprintf("±%d", c.Files)
	case c.Branch != "":
		return faint.of("no change")
	}
	return ""
}

func right(s string, w int) string {
	if n := w - width(s); n > 0 {
		return strings.Repeat(" ", n) + s
	}
	return cut(s, w)
}

// preview shows the agent under the cursor: what it is there for, and the end of its conversation.
func (m *root) preview(w, h int) []string {
	r, ok := m.hall.row()
	if !ok {
		return nil
	}
	head := []string{bold.of(line(r.Name, w))}
	var about []string
	if up, ok := m.agents.get(r.Parent); ok {
		about = append(about, "child of "+up.Label())
	}
	about = append(about, r.State.String())
	for _, l := range wrap(line(strings.Join(about, " · "), 3*w), w) {
		head = append(head, tone(r.State).of(l))
	}
	model := r.Model
	if r.Driver != "" {
		model = "driven by " + r.Driver
	}
	if model != "" {
		head = append(head, faint.of(line(model+" · "+tokens(r.Spent.Tokens)+" tokens · "+money(llm.Money(r.Spent.Cost)), w)))
	}
	if r.Change.Branch != "" {
		head = append(head, cut(faint.of(r.Change.Branch)+" "+changeOf(r.Change), w))
	}
	if r.Below > 0 {
		head = append(head, faint.of(text.Count(r.Below, "agent")+" in its subtree"))
	}
	if r.Asked != "" {
		for i, l := range wrap(line("“"+r.Asked+"”", 4*w), w) {
			if i < 4 {
				head = append(head, italic.of(l))
			}
		}
	}
	head = append(head, faint.of(strings.Repeat("─", w)))
	room := h - len(head)
	s := m.screens[r.ID]
	if room < 3 || s == nil || !s.transcript.read {
		return head
	}
	s.theme = m.theme
	return append(head, s.end(w, room)...)
}

// end draws the end of a conversation, wherever its reader is.
func (s *screen) end(w, h int) []string {
	at, wide, high := s.at, s.width, s.height
	s.at = nil
	lines, _ := s.draw(w, h)
	s.at = at
	if wide > 0 {
		s.width, s.height = wide, high
	}
	return lines
}

// homeLine is the line below the list: the filter, or the prompt of the agent under the cursor.
func (m *root) homeLine(w int) (lines []string, x, y int) {
	l := &m.hall
	switch {
	case l.filtering:
		return []string{accented.of("/ ") + line(l.filter, w-4)}, 2 + width(line(l.filter, w-4)), 0
	case l.line:
		typing, x, y := m.now.input.view(w-2, max(1, min(6, m.h/4)))
		return prompted(typing), x + 2, y
	}
	r, ok := l.row()
	if !ok {
		return []string{faint.of("❯")}, 0, 0
	}
	what := "write to "
	if r.State.Word == state.Asks {
		what = "answer "
	}
	text := "❯ (Space: " + what + r.Name + ")"
	if l.filter != "" {
		text = "/ " + l.filter + "  · Esc shows all"
	}
	return []string{faint.of(line(text, w))}, 0, 0
}

// homeFoot is the last line: what the keys do where the focus is.
func (m *root) homeFoot(w int) string {
	l := &m.hall
	var keys []string
	switch {
	case l.filtering:
		keys = []string{"Enter", "keep", "Esc", "show all"}
	case l.line:
		name := m.agents.label(m.now.agent)
		keys = []string{"Enter", "send to " + name, "Esc", "back to the list"}
		if m.question() != nil {
			keys = []string{"↑↓ Enter", "answer " + name, "Esc", "back to the list"}
		}
	default:
		r, _ := l.row()
		space := "write"
		if r.State.Word == state.Asks {
			space = "answer"
		}
		keys = []string{"Enter", "open", "Space", space, "f", "fork", "k", "kill", "m", "mail", "d", "diff", "/", "filter", "?", "help", "Esc", "back"}
	}
	out := ""
	for i := 0; i+1 < len(keys); i += 2 {
		next := " " + accent.of(keys[i]) + " " + faint.of(keys[i+1]) + " "
		if width(out)+width(next) > w {
			break
		}
		out += next
	}
	return cut(out, w)
}
