package tui

import (
	"strings"
	"time"
	"unicode"

	"ramet/internal/turn/permit"
)

const (
	SinceAppeared = 500 * time.Millisecond
	SinceTyped    = time.Second
)

// QuestionStage is what the keys are for.
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

// NewQuestion begins a question that nobody sees yet. typed is when the person last typed
// anything, anywhere.
func NewQuestion(q permit.Question, typed time.Time) *QuestionModel {
	return &QuestionModel{Question: q, Options: q.Options(), typed: typed}
}

// Appear says that the person sees the question from now on.
func (m *QuestionModel) Appear(now time.Time) {
	m.appeared = now
	if m.Stage == Choosing {
		m.At = 0
	}
}

// Typed says that the prompt was changed, by whatever key.
func (m *QuestionModel) Typed(now time.Time) {
	m.typed = now
	if m.Stage == Choosing {
		m.At = 0
	}
}

// Quiet says whether keys are not the question's yet.
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
