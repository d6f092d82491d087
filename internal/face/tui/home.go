package tui

import (
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

// These say when the screen is made anew: after changes, and after the cursor has rested.
const (
	homePause = 100 * time.Millisecond
	homeRest  = time.Second
	// homeGlance is how long the cursor stays before somebody's conversation is read.
	homeGlance = 80 * time.Millisecond
)

type (
	homeMsg     struct{} // what changed is shown now
	homeRestMsg struct{} // the cursor may have rested
)

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
	m.hall = hall{on: true, facts: facts, at: at, open: map[public.HomeSection]bool{}, pinned: map[id.Agent]public.HomeSection{}}
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
	if !m.hall.on {
		return nil
	}
	m.hall.stale = true
	if m.hall.making {
		return nil
	}
	m.hall.making = true
	return m.later(homePause, homeMsg{})
}

func (m *root) makeHome() {
	h := &m.hall
	h.stale, h.making = false, false
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
	h.moved = m.o.Now()
	return tea.Batch(m.restLater(homeRest), m.previewLater(homeGlance))
}

// restLater looks whether the cursor rested; one timer does for any number of keys.
func (m *root) restLater(d time.Duration) tea.Cmd {
	if m.hall.rests {
		return nil
	}
	m.hall.rests = true
	return m.later(d, homeRestMsg{})
}

// homeRested lets rows go where they belong, once the cursor has been elsewhere for a while.
func (m *root) homeRested() tea.Cmd {
	h := &m.hall
	h.rests = false
	if !h.on {
		return nil
	}
	if rested := m.o.Now().Sub(h.moved); rested < homeRest {
		return m.restLater(homeRest - rested)
	}
	for a := range h.pinned {
		if a != h.at {
			delete(h.pinned, a)
		}
	}
	m.makeHome()
	return nil
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
	for i := h.top; i < len(h.lines) && i < h.top+max(h.high, 1); i++ {
		if r := h.lines[i].row; r >= 0 && h.table.Rows[r].Ticks {
			return true
		}
	}
	return false
}

// previewed reads the conversation of the agent under the cursor, where it is shown.
func (m *root) previewed() tea.Cmd {
	r, ok := m.hall.row()
	if !m.hall.on || !ok || !m.previews() {
		return nil
	}
	return m.catchUp(m.screen(r.ID))
}

func (m *root) previewLater(d time.Duration) tea.Cmd {
	if m.hall.glance || !m.previews() || m.hall.at == "" {
		return nil
	}
	m.hall.glance = true
	return m.later(d, previewMsg{})
}

// glanced reads the preview, or waits until the cursor stays.
func (m *root) glanced() tea.Cmd {
	m.hall.glance = false
	if !m.hall.on {
		return nil
	}
	if stayed := m.o.Now().Sub(m.hall.moved); stayed < homeGlance {
		return m.previewLater(homeGlance - stayed)
	}
	return m.previewed()
}

func lastSaid(body string) string {
	if len(body) > 2000 {
		body = body[len(body)-2000:]
	}
	return registry.LastLine(body)
}
