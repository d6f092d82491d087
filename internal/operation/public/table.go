package public

import (
	"slices"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
)

// MakeHome makes the table of what is known.
func MakeHome(f HomeFacts) HomeTable {
	t := HomeTable{Counts: map[HomeSection]int{}}
	nodes := agent.Tree(f.All, func(a *agent.Agent) bool { return a.Status == agent.Running })
	for _, a := range f.All {
		t.Spent = t.Spent.Plus(a.Spent)
		if a.IsZero() {
			t.Budget = a.Budget
		}
	}
	rows := f.rows(nodes)
	t.Agents = len(rows)
	groups := map[HomeSection][]int{} // places in rows
	for i := range rows {
		r := &rows[i]
		if r.folded() {
			continue
		}
		g := r.row.Group
		t.Counts[r.row.own]++
		if r.row.State.Word == state.Asks {
			t.Asking++
		}
		if r.up >= 0 {
			if up := &rows[r.up]; up.row.Group == g && !up.folded() {
				r.row.Indent = up.row.Indent + 1
			} else {
				r.row.Path = pathOf(rows, r)
			}
		}
		groups[g] = append(groups[g], i)
	}
	groups[Done] = newestFirst(rows, groups[Done])
	t.Rows = make([]HomeEntry, 0, len(rows))
	for _, g := range HomeSections() {
		from := len(t.Rows)
		for _, i := range groups[g] {
			t.Rows = append(t.Rows, rows[i].row)
		}
		markLast(t.Rows[from:])
	}
	return t
}

// standing is a row on its place in the tree.
type standing struct {
	row  HomeEntry
	up   int // its nearest living ancestor; -1: none
	run  int // the run's agent above it; -1: none
	name string
}

// rows makes the rows of a tree, parents first, with what they hold of those below.
func (f HomeFacts) rows(nodes []agent.Node) []standing {
	out := make([]standing, len(nodes))
	at := make(map[id.Agent]int, len(nodes))
	for i, n := range nodes {
		at[n.ID] = i
		s := standing{row: f.row(*n.Agent), up: -1, run: -1, name: n.Agent.Label()}
		s.row.Parent = n.Home
		if up, ok := at[n.Home]; ok && n.Home != "" {
			s.up, s.run = up, out[up].run
			if strings.HasPrefix(out[up].name, RunPrefix) {
				s.run = up
			}
		}
		out[i] = s
	}
	for i := len(out) - 1; i >= 0; i-- { // children before parents
		r := &out[i].row
		if up := out[i].up; up >= 0 {
			out[up].row.Below += r.Below + 1
		}
		if run := out[i].run; run >= 0 && r.Group != NeedsYou {
			into := &out[run].row
			into.Folded += r.Folded + 1
			into.Spent = into.Spent.Plus(r.Spent)
			into.Unread += r.Unread
		}
	}
	for i := range out { // a run works as long as one of its own does
		if run := out[i].run; run >= 0 && out[i].row.Group == Working && out[run].row.Group == Idle {
			out[run].row.Group, out[run].row.own = Working, Working
		}
	}
	return out
}

// folded reports whether the row of its run represents it.
func (s *standing) folded() bool { return s.run >= 0 && s.row.Group != NeedsYou }

// mostPath limits how many ancestors of a row are named.
const mostPath = 4

// pathOf names those above a row, root first; of many, the nearest.
func pathOf(rows []standing, s *standing) []string {
	var out []string
	for up := s.up; up >= 0; up = rows[up].up {
		if len(out) == mostPath {
			out = append(out, "…")
			break
		}
		out = append(out, rows[up].name)
	}
	slices.Reverse(out)
	return out
}

// newestFirst sorts the families of a group by when their first member last wrote; inside of
// a family the order stays.
func newestFirst(rows []standing, group []int) []int {
	var families [][]int
	for _, i := range group {
		if rows[i].row.Indent == 0 || len(families) == 0 {
			families = append(families, nil)
		}
		last := len(families) - 1
		families[last] = append(families[last], i)
	}
	slices.SortStableFunc(families, func(a, b []int) int { return rows[b[0]].row.Since.Compare(rows[a[0]].row.Since) })
	return slices.Concat(families...)
}

// markLast marks the last child under each row.
func markLast(rows []HomeEntry) {
	var later []bool // by indent: whether one follows under the same parent
	for i := len(rows) - 1; i >= 0; i-- {
		n := rows[i].Indent
		for len(later) <= n {
			later = append(later, false)
		}
		rows[i].Last = !later[n]
		later = later[:n+1]
		later[n] = true
	}
}
