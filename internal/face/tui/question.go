package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/text"
	"ramet/internal/core/trust"
	"ramet/internal/turn/permit"
)

const (
	SinceAppeared = 500 * time.Millisecond
	SinceTyped    = time.Second
)

// QuestionStage is the use of the keys.
type QuestionStage int

const (
	Choosing QuestionStage = iota // among the options
	Saying                        // why not
	Editing                       // the rule to be saved
)

// QuestionModel is one question that waits for a person. It is used by one goroutine.
type QuestionModel struct {
	permit.Question
	Options []permit.Option
	At      int           // the highlighted option
	Stage   QuestionStage // what the keys are for
	Field   input         // what is said or edited, on one line
	Wrong   string

	appeared, typed time.Time
}

// NewQuestion makes a question that is not shown yet. typed is the time at which the person last typed
// anything, anywhere.
func NewQuestion(q permit.Question, typed time.Time) *QuestionModel {
	return &QuestionModel{Question: q, Options: q.Options(), typed: typed}
}

// Appear records that the person sees the question from now on.
func (m *QuestionModel) Appear(now time.Time) {
	m.appeared = now
	if m.Stage == Choosing {
		m.At = 0
	}
}

// Typed records that the prompt was changed, by whatever key.
func (m *QuestionModel) Typed(now time.Time) {
	m.typed = now
	if m.Stage == Choosing {
		m.At = 0
	}
}

// Quiet reports whether keys are not the question's yet.
func (m *QuestionModel) Quiet(now time.Time) bool {
	return m.appeared.IsZero() || now.Sub(m.appeared) < SinceAppeared || now.Sub(m.typed) < SinceTyped
}

// QuestionKey is a key as terminals name it, and its text, if it has one.
type QuestionKey struct{ Name, Text string }

// Press takes a key. taken is false for one that is the prompt's. A verdict is the end
// of the question.
func (m *QuestionModel) Press(k QuestionKey, prompt string, now time.Time) (verdict *permit.Verdict, taken bool) {
	switch {
	case m.Stage != Choosing:
		return m.fill(k, now)
	case m.Quiet(now):
		return nil, false
	}
	switch k.Name {
	case "up", "left":
		m.move(-1)
	case "down", "right":
		m.move(1)
	case "enter":
		if prompt != "" {
			return nil, false
		}
		return m.decide(now), true
	default:
		return nil, false
	}
	return nil, true
}

// move goes to the next option that can be chosen.
func (m *QuestionModel) move(step int) {
	for at := m.At + step; at >= 0 && at < len(m.Options); at += step {
		if m.Options[at].No == "" {
			m.At = at
			return
		}
	}
}

func (m *QuestionModel) decide(now time.Time) *permit.Verdict {
	switch o := m.Options[m.At]; {
	case o.No != "":
		return nil
	case o.Choice == permit.Because:
		m.Stage, m.Field, m.appeared = Saying, input{}, now
	case o.Choice == permit.ForProject:
		m.Stage, m.Field, m.appeared = Editing, input{}, now
		m.Field.Editor = Editor{}.Insert(oneLine(o.Rule))
	default:
		return &permit.Verdict{Choice: o.Choice}
	}
	return nil
}

// fill takes a key for the reason or the rule.
func (m *QuestionModel) fill(k QuestionKey, now time.Time) (*permit.Verdict, bool) {
	switch k.Name {
	case "esc":
		m.Stage, m.Wrong, m.At, m.appeared = Choosing, "", 0, now
		return nil, true
	case "enter":
		return m.send(now), true
	case "up", "down", "tab", "alt+enter", "shift+enter", "ctrl+j", "ctrl+enter":
		return nil, true
	}
	if !m.Field.key(k.Name, k.Text) {
		return nil, false
	}
	m.typed, m.Wrong = now, ""
	return nil, true
}

// Paste puts a text into what is being said or edited; false: it is the prompt's.
func (m *QuestionModel) Paste(s string, now time.Time) bool {
	if m.Stage == Choosing {
		return false
	}
	m.Field.Editor = m.Field.Insert(oneLine(s))
	m.typed, m.Wrong = now, ""
	return true
}

func (m *QuestionModel) words() string { return strings.TrimSpace(m.Field.Text()) }

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

func (m *QuestionModel) send(now time.Time) *permit.Verdict {
	if hasty := now.Sub(m.appeared) < SinceAppeared && m.words() == ""; hasty || m.Stage == Editing && m.Quiet(now) {
		return nil
	}
	v := permit.Verdict{Choice: permit.ForProject, Rule: m.words()}
	if m.Stage == Saying {
		v = permit.Verdict{Choice: permit.Because, Words: m.words()}
		if v.Words == "" {
			v.Choice = permit.Refuse
		}
	}
	if err := m.Check(v); err != nil {
		m.Wrong = err.Error()
		return nil
	}
	return &v
}

type (
	askedMsg   struct{ q Question }
	unaskedMsg struct{ q *asked }
)

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

// apply takes a question. That of another agent is only told of.
func (msg askedMsg) apply(m *root) tea.Cmd {
	q := &asked{QuestionModel: NewQuestion(msg.q.Question, m.typedAt), answer: msg.q.Answer, over: msg.q.Over}
	m.questions = append(m.questions, q)
	m.screen(q.Agent).waits(q, q.awaits())
	ctx := m.ctx
	over := func() tea.Msg {
		select {
		case <-q.over:
			return unaskedMsg{q}
		case <-ctx.Done():
			return nil
		}
	}
	cmds := []tea.Cmd{m.nextQuestion(), m.notify(m.agents.label(q.Agent) + q.asks() + ": " + cmp.Or(q.Says, q.Summary))}
	if q.over != nil {
		cmds = append(cmds, over)
	}
	cmds = append(cmds, m.homeChanged())
	if q.Agent != m.now.agent && !m.hall.on {
		cmds = append(cmds, m.tell(warn, m.agents.label(q.Agent)+q.asks()+": Ctrl+P goes there"))
	}
	return tea.Batch(cmds...)
}

// waits says of the call of a question for what it waits; "" when nobody asks any more.
func (s *screen) waits(q *asked, what string) {
	if b := s.live.asking(q.CallID, q.Tool); b != nil {
		b.waiting = what
	}
	if s.asks == nil {
		s.asks = make(map[string]string)
	}
	s.asks[q.CallID] = what
	s.join()
	if what == "" {
		delete(s.asks, q.CallID)
	}
}

// settle takes what became durable.
func (s *screen) settle() {
	s.live.settle(&s.transcript)
	s.join()
}

// join brings together what happens, what is asked and what is stored, which come in any
// order: of a call that is stored, the stored block shows all of it.
func (s *screen) join() {
	s.live.show(&s.transcript)
	for call, what := range s.asks {
		if b := s.transcript.calls[call]; b != nil {
			b.waiting = what
		}
	}
}

// unasked takes a question away that nobody waits for any more.
func (m *root) unasked(q *asked) tea.Cmd {
	if i := slices.Index(m.questions, q); i >= 0 {
		m.questions = slices.Delete(m.questions, i, i+1)
		m.screen(q.Agent).waits(q, "")
	}
	return m.homeChanged()
}

func (m *root) question() *asked {
	for _, q := range m.questions {
		if q.Agent == m.now.agent {
			return q
		}
	}
	return nil
}

// asking is the question that the user sees and could answer; nil: something else is in
// front.
func (m *root) asking() *asked {
	if m.over != nil || m.search.on || m.hall.on && !m.hall.line {
		return nil
	}
	return m.question()
}

// noticeQuestion follows what the user sees: the quiet time begins when a question appears.
func (m *root) noticeQuestion() {
	q := m.asking()
	if q != nil && q != m.seeing {
		q.Appear(m.o.Now())
	}
	m.seeing = q
}

func (m *root) typing() {
	m.typedAt = m.o.Now()
	for _, q := range m.questions {
		q.Typed(m.typedAt)
	}
}

func (m *root) toQuestion() tea.Cmd {
	if len(m.questions) == 0 {
		return m.tell(faint, "No agent needs approval.")
	}
	return m.goTo(m.questions[0].QuestionModel.Agent)
}

// press gives a key to the question. taken is false for those of the prompt.
func (q *asked) press(m *root, k tea.KeyPressMsg) (cmd tea.Cmd, taken bool) {
	switch name := k.String(); {
	case name == "shift+up" && q.more > 0:
		q.at = max(0, q.at-1)
		return nil, true
	case name == "shift+down" && q.more > 0:
		q.at++
		return nil, true
	}
	if k.String() == "enter" && q.blind && q.permits() {
		return m.tell(bad, "Make the window larger to see what you are allowing."), true
	}
	v, taken := q.Press(QuestionKey{Name: k.String(), Text: k.Text}, m.now.input.Text(), m.o.Now())
	if v != nil {
		q.answer(*v)
		return m.unasked(q), true
	}
	return nil, taken
}

// permits says whether what is highlighted lets the call run.
func (q *asked) permits() bool {
	if q.Stage == Saying || q.Says != "" {
		return false
	}
	c := q.Options[q.At].Choice
	return c != permit.Refuse && c != permit.Because
}

// minAsked is how many lines a question wants at least: what would run below a title, an answer, and help.
const minAsked = 4

// view draws the question in at most h lines: everything that would run, if need be in pages, and the
// answers. What is highlighted is always among them; where there is little room, first the reasons
// why something cannot be chosen go, then other answers, then the title.
func (q *asked) view(m *root, w, h int) []string {
	bar := warn.of("▌ ")
	what, subject := q.what(m.agents.label(q.Agent))
	body := wrap(trust.Reveal(clean(subject)), w-4)
	for i := range body {
		body[i] = accent.of(body[i])
	}
	if q.Patch != "" {
		body = append(body, patchOf(q.Patch, w-4, m.theme)...)
	}
	title := 1
	if h < 3 {
		title = 0
	}
	tail, focus := q.choices(w, m.o.Now(), maxWhy)
	if len(tail) > h-title-1 {
		tail, focus = q.choices(w, m.o.Now(), 1)
	}
	if most := max(1, h-title-1); len(tail) > most {
		from := max(0, min(focus-most/2, len(tail)-most))
		tail = tail[from : from+most]
	}
	room := max(0, h-title-len(tail))
	q.blind = room == 0 && len(body) > 0
	q.more = max(0, len(body)-room)
	q.at = max(0, min(q.at, q.more))
	if q.more > 0 {
		what += fmt.Sprintf(" (lines %d–%d of %d, Shift+↑↓ scrolls)", q.at+1, min(len(body), q.at+room), len(body))
	}
	var out []string
	if title > 0 {
		out = append(out, bar+bold.of(cut(what+":", w-2)))
	}
	for _, l := range body[q.at:min(len(body), q.at+room)] {
		out = append(out, bar+"  "+l)
	}
	return append(out, tail...)
}

func (q *asked) asks() string {
	if q.Says != "" {
		return " has a question for you"
	}
	return " needs approval"
}

func (q *asked) awaits() string {
	if q.Says != "" {
		return "waiting for your answer"
	}
	return "waiting for your approval"
}

func (q *asked) what(agent string) (line, subject string) {
	switch {
	case q.Says != "":
		return agent + " asks", q.Says
	default:
		subject = cmp.Or(q.Does(), q.Summary)
	}
	line = agent + " wants to use " + text.Line(q.Tool, 20)
	switch q.Tool {
	case "bash":
		line = agent + " wants to run"
	case "write", "edit":
		line = agent + " wants to " + q.Tool
	case permit.Network:
		line = agent + " wants to use the network"
	}
	if agent == "0" {
		line = "Agent " + line
	}
	if q.Outside {
		line += " outside the box"
	}
	if q.Where != "" {
		line += " " + text.Line(q.Where, 120)
	}
	return line, subject
}

// maxWhy is how many lines say why something cannot be chosen.
const maxWhy = 3

// choices are the lines below what would run: why it is asked, and what can be answered, each reason
// why not in so many lines at most; and which of them is highlighted.
func (q *asked) choices(w int, now time.Time, most int) (out []string, focus int) {
	bar := warn.of("▌ ")
	if q.Reason != "" {
		for _, l := range wrap("Reason: "+clean(q.Reason), w-4) {
			if out = append(out, bar+"  "+l); len(out) == 3 {
				break
			}
		}
	}
	if q.Why != "" {
		out = append(out, bar+faint.of(line(q.Why, w-2)))
	}
	if q.Stage != Choosing {
		return append(out, q.field(w, now)...), len(out)
	}
	for i, o := range q.Options {
		mark, st := "  ", plain
		if i == q.At {
			mark, st, focus = accented.of("❯ "), bold, len(out)
		}
		if o.No != "" { // why not is said whole, as far as there is room
			refusal := "Can't be allowed for longer than once: "
			if o.Choice == permit.ForProject {
				refusal = "Can't always be allowed: "
			}
			for j, l := range wrap(clean(refusal+o.No), w-6) {
				if j < most {
					out = append(out, bar+mark+faint.of(l))
				}
			}
			continue
		}
		text := o.Text
		if o.Rule != "" {
			text += ": " + trust.Reveal(clean(o.Rule))
		}
		out = append(out, bar+mark+st.of(line(text, w-6)))
	}
	help := "typing goes to your message"
	if !q.Quiet(now) {
		help = "↑↓ select · Enter confirm · typing goes to your message"
	}
	return append(out, bar+faint.of(cut(help, w-2))), focus
}

func (q *asked) field(w int, now time.Time) []string {
	bar := warn.of("▌ ")
	title, help := "No, because: ", "Enter send · Esc back"
	if q.Says != "" {
		title = "Your answer: "
	}
	if q.Stage == Editing {
		if title, help = "Always allow in this project: ", "edit the rule if you like · Esc back"; !q.Quiet(now) {
			help = "edit the rule if you like · Enter save and allow · Esc back"
		}
	}
	said, cursor := q.Field.Text(), q.Field.Offset()
	before, after := clean(said[:cursor]), clean(said[cursor:])
	room := max(8, w-4-width(title))
	for width(before) > room-2 { // the cursor stays in sight
		_, size := utf8.DecodeRuneInString(before)
		before = before[size:]
	}
	out := []string{bar + title + tooled.of(before) + "▏" + tooled.of(cut(after, max(0, room-1-width(before))))}
	if q.Wrong != "" {
		for _, l := range wrap(clean(q.Wrong), w-2) {
			out = append(out, bar+bad.of(l))
		}
	}
	return append(out, bar+faint.of(cut(help, w-2)))
}
