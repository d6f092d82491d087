package tui

import (
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/operation/public"
)

// homeLine is one line of the list: a row, the head of a group, or what is folded of it.
type homeLine struct {
	row    int // in table.Rows; -1: none
	group  public.HomeSection
	folded int // how many; 0: a head, if there is no row
}

const (
	homePause = 100 * time.Millisecond // after it changes are shown, and the conversation under the cursor is read
	homeRest  = time.Second            // after it the rows that the cursor left may move
)

// homeMsg asks for what changed, or has waited for the cursor to rest.
type homeMsg struct{}

// openHome shows everybody, with the cursor on the current agent or its nearest living ancestor.
func (m *root) openHome() tea.Cmd {
	if m.agents == nil {
		return m.tell(faint, "The workspace is still opening.")
	}
	at := m.now.agent
	if a, ok := m.agents.get(at); ok && a.Status == agent.Dead {
		if up, ok := m.agents.up(at); ok {
			at = up
		}
	}
	facts := m.hall.facts
	m.hall = hall{on: true, rests: true, facts: facts, at: at, open: map[public.HomeSection]bool{}, pinned: map[id.Agent]public.HomeSection{}}
	m.over, m.search, m.now.chosen = nil, search{}, nil
	m.makeHome()
	return tea.Batch(m.look(), m.previewed())
}

func (m *root) closeHome() tea.Cmd {
	m.hall = hall{facts: m.hall.facts}
	return m.look() // whose mode was asked for may be another
}

// homeChanged lets the rows be made anew in a moment, once for all that happens until then.
func (m *root) homeChanged() tea.Cmd {
	m.hall.stale = true
	return m.homeSoon()
}

// homeSoon lets Home be brought up to date in a moment.
func (m *root) homeSoon() tea.Cmd {
	if !m.hall.on || m.hall.waiting {
		return nil
	}
	m.hall.waiting = true
	return m.later(homePause, homeMsg{})
}

// updateHome shows what changed. Once the cursor stays, it reads the conversation there, and lets the rows that the cursor
// left go where they belong.
func (m *root) updateHome() tea.Cmd {
	h := &m.hall
	if h.waiting = false; !h.on {
		return nil
	}
	var cmds []tea.Cmd
	stayed := m.o.Now().Sub(h.moved)
	if stayed >= homeRest {
		maps.DeleteFunc(h.pinned, func(a id.Agent, _ public.HomeSection) bool { return a != h.at })
		h.stale, h.rests = true, true
	}
	if h.stale {
		m.makeHome()
	}
	if h.unread && stayed >= homePause {
		cmds, h.unread = append(cmds, m.previewed()), false
	}
	if !h.rests {
		cmds = append(cmds, m.homeSoon())
	}
	return tea.Batch(cmds...)
}

func (m *root) makeHome() {
	h := &m.hall
	h.stale = false
	f := public.HomeFacts{All: m.agents.All, States: m.agents.States, Asks: map[id.Agent]string{}, Pinned: h.pinned}
	if h.facts != nil {
		f.Words, f.Changes, f.Runs = h.facts.Words, h.facts.Changes, h.facts.Runs
	}
	for _, q := range m.questions {
		if f.Asks[q.Agent] == "" {
			_, subject := q.what("")
			f.Asks[q.Agent] = line(subject, 400)
		}
	}
	h.table = public.MakeHome(f)
	h.layOut()
	if h.at != "" && h.index(h.at) < 0 { // it ended, or was folded: the nearest that is there
		h.at = m.nearestShown(h.at)
	}
	if h.at == "" && h.fold >= len(h.lines) {
		h.fold = max(0, len(h.lines)-1)
	}
}

// nearestShown is the nearest ancestor that has a row, else the first row.
func (m *root) nearestShown(a id.Agent) id.Agent {
	for up, ok := m.agents.up(a); ok; up, ok = m.agents.up(up) {
		if m.hall.index(up) >= 0 {
			return up
		}
	}
	for _, l := range m.hall.lines {
		if l.row >= 0 {
			return m.hall.table.Rows[l.row].ID
		}
	}
	return ""
}

// Of those that are done, and of the idle, only so many are shown until somebody wants all.
const homeFold = 5

// layOut makes the lines of the rows: what does not fit the filter is left out, what nobody
// needs is folded. The row with the cursor is always there.
func (h *hall) layOut() {
	h.lines = h.lines[:0]
	rows := h.table.Rows
	for i := 0; i < len(rows); {
		g, n := rows[i].Group, i
		for n < len(rows) && rows[n].Group == g {
			n++
		}
		var shown []int
		for ; i < n; i++ {
			if h.fits(rows[i]) {
				shown = append(shown, i)
			}
		}
		if len(shown) == 0 {
			continue
		}
		h.lines = append(h.lines, homeLine{row: -1, group: g})
		most := len(shown)
		if (g == public.Done || g == public.Idle) && !h.open[g] && h.filter == "" {
			most = min(most, homeFold)
		}
		for at, r := range shown {
			if at < most || rows[r].ID == h.at {
				h.lines = append(h.lines, homeLine{row: r, group: g})
			} else if h.lines[len(h.lines)-1].folded == 0 {
				h.lines = append(h.lines, homeLine{row: -1, group: g, folded: 1})
			} else {
				h.lines[len(h.lines)-1].folded++
			}
		}
	}
}

func (h *hall) fits(r public.HomeEntry) bool {
	if h.filter == "" {
		return true
	}
	all := strings.ToLower(strings.Join([]string{r.Name, r.Does, string(r.Group), r.Asked, r.Said, r.Model, r.Driver, r.Change.Branch}, " "))
	for _, word := range strings.Fields(strings.ToLower(h.filter)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// index is the line of an agent; -1: it has none.
func (h *hall) index(a id.Agent) int {
	return slices.IndexFunc(h.lines, func(l homeLine) bool { return l.row >= 0 && h.table.Rows[l.row].ID == a })
}

func (h *hall) cursor() int {
	if h.at != "" {
		if i := h.index(h.at); i >= 0 {
			return i
		}
	}
	return max(0, min(h.fold, len(h.lines)-1))
}

func (h *hall) row() (public.HomeEntry, bool) {
	if i := h.cursor(); i < len(h.lines) && h.lines[i].row >= 0 {
		return h.table.Rows[h.lines[i].row], true
	}
	return public.HomeEntry{}, false
}

func (m *root) moveHome(n int) tea.Cmd {
	h := &m.hall
	i := h.cursor()
	step := 1
	if n < 0 {
		step = -1
	}
	to := i
	for left := n * step; left > 0; {
		next := to + step
		for next >= 0 && next < len(h.lines) && h.lines[next].row < 0 && h.lines[next].folded == 0 {
			next += step
		}
		if next < 0 || next >= len(h.lines) {
			break
		}
		to, left = next, left-1
	}
	return m.putHome(to)
}

// putHome puts the cursor on a line. The row that it leaves may move after a moment.
func (m *root) putHome(to int) tea.Cmd {
	h := &m.hall
	if to < 0 || to >= len(h.lines) {
		return nil
	}
	if l := h.lines[to]; l.row >= 0 {
		r := h.table.Rows[l.row]
		h.at = r.ID
		h.pinned[r.ID] = r.Group
	} else {
		h.at, h.fold = "", to
	}
	h.moved, h.rests, h.unread = m.o.Now(), false, h.at != ""
	return m.homeSoon()
}

// said is the last line of an agent at this moment: what it is saying, or does, else what
// was stored.
func (m *root) said(r public.HomeEntry) string {
	s := m.screens[r.ID]
	if s == nil || r.State.Word == state.Asks {
		return r.Said
	}
	for _, c := range slices.Backward(s.live.calls) {
		if !c.done {
			return strings.TrimSpace(c.title + " " + c.about)
		}
	}
	if s.live.text != nil {
		if last := lastSaid(s.live.text.body); last != "" {
			return last
		}
	}
	return r.Said
}

// ticks says whether a row that is shown counts the time of work under way.
func (h *hall) ticks() bool {
	shown := h.lines[min(h.top, len(h.lines)):min(h.top+max(h.high, 1), len(h.lines))]
	return slices.ContainsFunc(shown, func(l homeLine) bool { return l.row >= 0 && h.table.Rows[l.row].Ticks })
}

// previewed reads the conversation of the agent under the cursor, where it is shown.
func (m *root) previewed() tea.Cmd {
	r, ok := m.hall.row()
	if !m.hall.on || !ok || !m.previews() {
		return nil
	}
	return m.catchUp(m.screen(r.ID))
}

func lastSaid(body string) string {
	if len(body) > 2000 {
		body = body[len(body)-2000:]
	}
	return registry.LastLine(body)
}
