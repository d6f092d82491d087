package tui

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/history"
	"ramet/internal/permit"
)

// asked is a question that waits for the user.
type asked struct {
	Question
	focus  bool // keys are its own although something is being typed
	reason bool // the user says why not
	words  string
	at     int // first line of what would run that is shown
}

type (
	askedMsg   struct{ q Question }
	unaskedMsg struct{ q *asked }
)

// nextQuestion waits for a question.
func (m *root) nextQuestion() tea.Cmd {
	asks, ctx := m.asks, m.ctx
	if asks == nil {
		return nil
	}
	return func() tea.Msg {
		select {
		case q, ok := <-asks:
			if !ok {
				return nil
			}
			return askedMsg{q}
		case <-ctx.Done():
			return nil
		}
	}
}

// asked takes a question. That of another agent is only told of.
func (m *root) asked(msg askedMsg) tea.Cmd {
	q := &asked{Question: msg.q}
	m.questions = append(m.questions, q)
	if b := m.screen(q.Agent).live.running(q.Tool); b != nil {
		b.waiting = "waits for your permission"
	}
	ctx := m.ctx
	over := func() tea.Msg {
		select {
		case <-q.Over:
			return unaskedMsg{q}
		case <-ctx.Done():
			return nil
		}
	}
	cmds := []tea.Cmd{m.nextQuestion()}
	if q.Over != nil {
		cmds = append(cmds, over)
	}
	if q.Agent != m.now.agent {
		cmds = append(cmds, m.tell(warn, m.crowd.label(q.Agent)+" asks for permission: Ctrl+P goes there"))
	}
	return tea.Batch(cmds...)
}

// unasked takes a question away that nobody waits for any more.
func (m *root) unasked(q *asked) tea.Cmd {
	for i, other := range m.questions {
		if other == q {
			m.questions = append(m.questions[:i], m.questions[i+1:]...)
			if b := m.screen(q.Agent).live.running(q.Tool); b != nil {
				b.waiting = ""
			}
			break
		}
	}
	return nil
}

// question is the one of the current agent.
func (m *root) question() *asked {
	for _, q := range m.questions {
		if q.Agent == m.now.agent {
			return q
		}
	}
	return nil
}

// asking says whether keys go to the question: not while something is being typed,
// so that no word becomes an answer.
func (m *root) asking(q *asked) bool { return q.focus || q.reason || m.now.input.text() == "" }

// toQuestion goes to the agent that asks.
func (m *root) toQuestion() tea.Cmd {
	if len(m.questions) == 0 {
		return m.tell(faint, "nobody asks for anything")
	}
	return m.goTo(m.questions[0].Agent)
}

func (m *root) answer(q *asked, c permit.Choice, words string) tea.Cmd {
	q.Answer(permit.Verdict{Choice: c, Words: words})
	return m.unasked(q)
}

// key answers. ok is false for keys that are not for it.
func (q *asked) key(m *root, k tea.KeyPressMsg) (cmd tea.Cmd, ok bool) {
	name := k.String()
	if q.reason {
		switch {
		case name == "enter":
			return m.answer(q, permit.Refuse, q.words), true
		case name == "esc":
			q.reason, q.words = false, ""
			return nil, true
		case name == "backspace":
			if r := []rune(q.words); len(r) > 0 {
				q.words = string(r[:len(r)-1])
			}
			return nil, true
		case k.Text != "":
			q.words += k.Text
			return nil, true
		}
		return nil, false
	}
	switch name {
	case "y", "1":
		return m.answer(q, permit.Once, ""), true
	case "a", "2":
		if len(q.Suggestion) == 0 {
			return nil, true
		}
		return m.answer(q, permit.Always, ""), true
	case "n", "3":
		return m.answer(q, permit.Refuse, ""), true
	case "r", "4":
		q.reason = true
		return nil, true
	case "tab":
		q.focus = !q.focus
		return nil, true
	case "up":
		q.at = max(0, q.at-1)
		return nil, true
	case "down":
		q.at++
		return nil, true
	}
	return nil, k.Text != "" // a word that happens to be typed is no prompt
}

// view draws the question: everything that would run, if need be in pages.
func (q *asked) view(m *root, w, h int) []string {
	bar := warn.of("▌ ")
	out := []string{bar + bold.of(cut(m.crowd.label(q.Agent)+" wants to use "+line(q.Tool, 20)+":", w-2))}
	subject := q.Subject
	if subject == "" {
		subject = q.Summary
	}
	body := wrap(clean(subject), w-4)
	for i := range body {
		body[i] = accent.of(body[i])
	}
	body = append(body, m.change(q, w-4)...)
	tail := q.choices(m, w)
	room := max(1, h-1-len(tail))
	q.at = max(0, min(q.at, len(body)-room))
	for _, l := range body[q.at:min(len(body), q.at+room)] {
		out = append(out, bar+"  "+l)
	}
	if len(body) > room {
		out[0] = bar + bold.of(cut(fmt.Sprintf("%s wants to use %s (lines %d–%d of %d, ↑↓ scroll):", m.crowd.label(q.Agent), line(q.Tool, 20), q.at+1, min(len(body), q.at+room), len(body)), w-2))
	}
	return append(out, tail...)
}

// change is what a call would write, as far as its arguments say so: the question
// itself names only the file.
func (m *root) change(q *asked, w int) []string {
	if q.Tool != "write" && q.Tool != "edit" {
		return nil
	}
	for _, e := range slices.Backward(m.now.entries) {
		if e.Kind != history.Assistant {
			continue
		}
		for _, p := range e.Parts {
			var args struct {
				Content string `json:"content"`
				Old     string `json:"old_string"`
				New     string `json:"new_string"`
			}
			b := m.now.calls[p.CallID]
			if p.Type != history.ToolCall || p.Name != q.Tool || b == nil || b.done || json.Unmarshal(p.Args, &args) != nil ||
				!strings.Contains(b.about, path.Base(q.Subject)) {
				continue
			}
			var out []string
			add := func(sign string, st style, s string) {
				if s == "" {
					return
				}
				for _, l := range strings.Split(strings.TrimSuffix(clean(s), "\n"), "\n") {
					for _, piece := range wrap(l, w-2) {
						out = append(out, st.of(sign+" "+piece))
					}
				}
			}
			add("-", bad, args.Old)
			add("+", good, args.New+args.Content)
			return out
		}
		return nil
	}
	return nil
}

func (q *asked) choices(m *root, w int) []string {
	bar := warn.of("▌ ")
	var out []string
	if q.Why != "" {
		out = append(out, bar+faint.of(line(q.Why, w-2)))
	}
	if q.reason {
		return append(out, bar+"No, because: "+cut(clean(q.words), w-18)+"▏", bar+faint.of("Enter sends it to the model · Esc back"))
	}
	if !m.asking(q) {
		return append(out, bar+faint.of("Tab answers; what you type goes to the prompt"))
	}
	keys := accented.of("y") + " once   " + accented.of("n") + " no   " + accented.of("r") + " no, because…"
	if len(q.Suggestion) > 0 {
		rules := make([]string, len(q.Suggestion))
		for i, r := range q.Suggestion {
			rules[i] = r.String()
		}
		out = append(out, bar+cut(accented.of("a")+" always "+tooled.of(line(strings.Join(rules, " "), 4*w))+faint.of(" (until you leave)"), w-2))
	}
	return append(out, bar+cut(keys, w-2))
}
