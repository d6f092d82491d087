package tui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/core/kit"
	"ramet/internal/model/catalog"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
)

func (c *completion) shown() bool { return len(c.Candidates) > 0 && !c.away }

func (c *completion) close() { c.away = true }

const maxOffered = 200

type filesMsg struct {
	agent id.Agent
	typed string
	files []string
}

func (c *completion) update(m *root) tea.Cmd {
	*c = completion{}
	in := &m.now.input
	said, cursor := in.Text(), in.Offset()
	if len(said) > 16<<10 || m.agents == nil {
		return nil
	}
	if strings.HasPrefix(said, "/") && !strings.Contains(said, "\n") {
		c.Completion = operation.SlashRows().Complete(said, cursor, m.sources())
		c.typed = said
		return nil
	}
	start, fragment, ok := mention(said, cursor)
	if !ok || m.workspace == nil {
		return nil
	}
	c.file, c.typed = true, fragment
	c.Start, c.End = start, cursor
	workspace, ctx, a := m.workspace, m.ctx, m.now.agent
	return func() tea.Msg { return filesMsg{a, fragment, workspace.CompletePaths(ctx, a, fragment)} }
}

func mention(said string, cursor int) (start int, fragment string, ok bool) {
	head := said[:cursor]
	at := strings.LastIndexByte(head, '@')
	if at < 0 || strings.ContainsAny(head[at:], " \n\t") || at > 0 && !strings.ContainsRune(" \n\t(", rune(head[at-1])) {
		return 0, "", false
	}
	return at, head[at+1:], true
}

func (c *completion) files(m *root, msg filesMsg) {
	if !c.file || msg.typed != c.typed || msg.agent != m.now.agent {
		return
	}
	c.Candidates = nil
	for i, found := range FindFuzzy(msg.typed, msg.files) {
		if i == maxOffered {
			break
		}
		c.Candidates = append(c.Candidates, session.CommandCandidate{Text: msg.files[found.Index]})
	}
}

func candidates[T any](list []T, format func(T) (text, summary string)) (out []session.CommandCandidate) {
	for _, one := range list {
		if text, summary := format(one); text != "" {
			out = append(out, session.CommandCandidate{Text: text, Summary: summary})
		}
	}
	return out
}

func (m *root) sources() session.CompletionSources {
	return session.CompletionSources{
		Agents: func() []session.CommandCandidate {
			return candidates(m.agents.living[:min(maxOffered, len(m.agents.living))], func(n agent.Node) (string, string) {
				word, _ := m.state(*n.Agent)
				return n.Label(), word
			})
		},
		Commands: func() []session.CommandCandidate {
			if m.workspace == nil {
				return nil
			}
			return candidates(m.named(), func(c kit.Command) (string, string) { return "/" + c.Name, line(c.Description, 100) })
		},
		Labels: func() []session.CommandCandidate {
			return candidates(m.now.entries, func(e Entry) (string, string) {
				if e.Kind != history.Mark {
					return "", ""
				}
				return line(e.About.Label, 64), "message " + e.ID.String()
			})
		},
		Modes: m.modes,
		Vendors: func() []session.CommandCandidate {
			return candidates(keyOwners(), func(v catalog.Vendor) (string, string) { return v.Name, v.Title })
		},
		Settings: func() []session.CommandCandidate {
			return candidates(config.Settings(), func(s config.Setting) (string, string) { return s.Key, line(s.Help, 100) })
		},
		Models: func() []session.CommandCandidate {
			return candidates(append(m.workspace.Usable(), m.found...), func(model Model) (string, string) { return model.Ref.String(), model.Title })
		},
	}
}

// key moves in the list and takes from it. ok is false for keys that are not for it.
func (c *completion) key(m *root, name string) (cmd tea.Cmd, ok bool) {
	if !c.shown() {
		return nil, false
	}
	switch name {
	case "up":
		c.at = max(0, c.at-1)
		return nil, true
	case "down":
		c.at = min(len(c.Candidates)-1, c.at+1)
		return nil, true
	case "tab":
		return c.take(m), true
	case "enter":
		// A line that means something already is sent, whatever could follow.
		if c.file || c.Kind == session.Topic && c.Start == 0 && c.Candidates[c.at].Text != strings.TrimSpace(m.now.input.Text()) {
			return c.take(m), true
		}
	}
	return nil, false
}

func (c *completion) take(m *root) tea.Cmd {
	in := &m.now.input
	said := in.Text()
	insert := ""
	if c.file {
		insert = "@" + c.Candidates[c.at].Text
		if !strings.HasSuffix(insert, "/") {
			insert += " "
		}
	} else {
		insert = c.Insert(c.Candidates[c.at])
	}
	if c.End > len(said) || c.Start > c.End {
		return nil
	}
	in.Editor = in.Replace(c.Start, c.End, insert)
	return m.edited()
}

// view draws the list above the prompt; of more than fit it says how many there are.
func (c *completion) view(w, h int) []string {
	room := min(h, 8)
	if c.Kind == session.Topic && c.Start == 0 {
		room = h // all commands, with what they take
	}
	var out []string
	if len(c.Candidates) > room && room > 3 {
		room--
		out = append(out, faint.of(cut(fmt.Sprintf(" %d of %d · ↑↓ select · Tab complete", c.at+1, len(c.Candidates)), w)))
	}
	from := max(0, min(c.at-room/2, len(c.Candidates)-room))
	for i := from; i < len(c.Candidates) && i < from+room; i++ {
		one := c.Candidates[i]
		name, wide := one.Text, min(w/2, 24)
		if one.Takes != "" {
			name += " " + one.Takes
		}
		if c.Kind == session.Topic && c.Start == 0 {
			wide = w / 2
		}
		l := fit(" "+fit(line(name, wide), wide)+" "+line(one.Summary, w), w)
		if i == c.at {
			l = reverse.of(l)
		} else {
			l = faint.of(l)
		}
		out = append(out, l)
	}
	return out
}

func (m *root) edited() tea.Cmd {
	m.dirty = true
	m.past.at = len(m.memory.Said)
	return m.offer.update(m)
}

// FuzzyMatch names a candidate that matches.
type FuzzyMatch struct {
	Index int // in the candidates
	Score int // higher reads better
}

// FindFuzzy returns the candidates that match, best first. An empty pattern matches
// all, in their own order.
func FindFuzzy(pattern string, candidates []string) []FuzzyMatch {
	words := parse(pattern)
	found := make([]FuzzyMatch, 0, min(len(candidates), 64))
	for i, candidate := range candidates {
		if score, ok := measure(words, candidate); ok {
			found = append(found, FuzzyMatch{Index: i, Score: score})
		}
	}
	if len(words) > 0 {
		slices.SortStableFunc(found, func(a, b FuzzyMatch) int {
			x, y := candidates[a.Index], candidates[b.Index]
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(len(x), len(y)), strings.Compare(x, y))
		})
	}
	return found
}

type word struct {
	letters []rune
	exact   bool // it has a capital
}

func parse(pattern string) []word {
	var words []word
	for _, field := range strings.Fields(pattern) {
		words = append(words, word{[]rune(field), strings.ToLower(field) != field})
	}
	return words
}

func measure(words []word, candidate string) (int, bool) {
	text := []rune(candidate)
	total := 0
	for _, w := range words {
		score, ok := w.measure(text)
		if !ok {
			return 0, false
		}
		total += score
	}
	return total, true
}

// What a letter is worth by its position.
const (
	hit      = 16
	atStart  = 12 // of the text, or of a path's last part
	atWord   = 9  // after a separator, or a capital after a small letter
	adjacent = 10
	gapOpen  = 3
	gapMore  = 1
	mostLate = 12 // of the first letter
	whole    = 40 // the pattern is the text, or the last part of the path
	never    = math.MinInt / 2
)

// measure returns the score of the best of all ways in which the letters occur in a text, in order.
func (w word) measure(text []rune) (int, bool) {
	base := 0 // of the last part of a path
	for i := range len(text) - 1 {
		if text[i] == '/' {
			base = i + 1
		}
	}
	folded := slices.Clone(text)
	for i, r := range folded {
		if !w.exact {
			folded[i] = unicode.ToLower(r)
		}
	}
	var last []int // the best score with the letters so far, the last of them here
	for i, letter := range w.letters {
		scores, apart := make([]int, len(text)), never
		for at := range text {
			if i > 0 && at > 1 {
				apart = max(apart-gapMore, last[at-2]-gapOpen)
			}
			scores[at] = never
			switch {
			case folded[at] != letter || i > 0 && at == 0:
			case i == 0:
				scores[at] = hit + bonus(text, at, base) - min(mostLate, at)
			default:
				scores[at] = hit + bonus(text, at, base) + max(apart, last[at-1]+adjacent)
			}
		}
		last = scores
	}
	if len(last) == 0 || slices.Max(last) < never/2 {
		return 0, false
	}
	best := slices.Max(last)
	if slices.Equal(folded, w.letters) || slices.Equal(folded[base:], w.letters) {
		best += whole
	}
	return best, true
}

func bonus(text []rune, at, base int) int {
	switch {
	case at == 0 || at == base:
		return atStart
	case strings.ContainsRune("/-_. :@\\", text[at-1]), unicode.IsLower(text[at-1]) && unicode.IsUpper(text[at]):
		return atWord
	}
	return 0
}
