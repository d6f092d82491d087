package tui

import (
	"strings"
	"testing"
	"time"

	"ramet/internal/testkit"
	"ramet/internal/turn/permit"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func askedQuestion(subject string) *QuestionModel {
	r, err := permit.Parse("bash(" + strings.NewReplacer(`\`, `\\`, "*", `\*`, "(", `\(`, ")", `\)`).Replace(subject) + ")")
	if err != nil {
		panic(err)
	}
	return NewQuestion(permit.Question{Tool: "bash", Subject: subject, Rule: r}, time.Time{})
}

// scene is a question above a prompt, as any face has them.
type scene struct {
	*QuestionModel
	now     time.Time
	prompt  string
	queued  []string
	verdict *permit.Verdict
}

func (s *scene) press(k QuestionKey) {
	v, taken := s.Press(k, s.prompt, s.now)
	if v != nil {
		s.verdict = v
	}
	switch {
	case taken:
	case k.Name == "enter":
		if s.prompt != "" {
			s.queued, s.prompt = append(s.queued, s.prompt), ""
			s.Typed(s.now)
		}
	case k.Text != "":
		s.prompt += k.Text
		s.Typed(s.now)
	}
}

func TestOnlyEnterAfterTheQuietTimeDecides(t *testing.T) {
	at := func(d time.Duration) time.Time { return start.Add(d) }
	for name, c := range map[string]struct {
		typed  time.Duration // before the question; 0: never
		keys   []any         // a moment, a key
		choice permit.Choice // empty: none
		prompt string
	}{
		"at once":                    {0, []any{0 * time.Millisecond, "enter"}, "", ""},
		"too soon":                   {0, []any{499 * time.Millisecond, "enter"}, "", ""},
		"in time":                    {0, []any{500 * time.Millisecond, "enter"}, permit.Refuse, ""},
		"typed just before":          {-400 * time.Millisecond, []any{550 * time.Millisecond, "enter"}, "", ""},
		"typed long enough before":   {-400 * time.Millisecond, []any{600 * time.Millisecond, "enter"}, permit.Refuse, ""},
		"once":                       {0, []any{600 * time.Millisecond, "down", "down", "enter"}, permit.Once, ""},
		"the other arrows":           {0, []any{600 * time.Millisecond, "right", "right", "right", "left", "enter"}, permit.Once, ""},
		"for the agent":              {0, []any{600 * time.Millisecond, "down", "down", "down", "enter"}, permit.ForAgent, ""},
		"up from the first":          {0, []any{600 * time.Millisecond, "up", "enter"}, permit.Refuse, ""},
		"arrows in the quiet time":   {0, []any{100 * time.Millisecond, "down", "down", 600 * time.Millisecond, "enter"}, permit.Refuse, ""},
		"digits":                     {0, []any{600 * time.Millisecond, "1", "2", "3"}, "", "123"},
		"a letter after arrows":      {0, []any{600 * time.Millisecond, "down", "down", "y", "backspaced", 1700 * time.Millisecond, "enter"}, permit.Refuse, ""},
		"text, then Enter":           {0, []any{600 * time.Millisecond, "y", 5 * time.Second, "enter"}, "", ""},
		"queued, then Enter at once": {0, []any{600 * time.Millisecond, "y", "enter", 700 * time.Millisecond, "enter"}, "", ""},
		"a word is typed off again":  {0, []any{600 * time.Millisecond, "y", "backspaced", 1500 * time.Millisecond, "enter"}, "", ""},
		"and one waits":              {0, []any{600 * time.Millisecond, "y", "backspaced", 1600 * time.Millisecond, "enter"}, permit.Refuse, ""},
	} {
		typed := time.Time{}
		if c.typed != 0 {
			typed = at(c.typed)
		}
		s := &scene{QuestionModel: NewQuestion(askedQuestion("make").Question, typed), now: start}
		s.Appear(start)
		for _, k := range c.keys {
			switch k := k.(type) {
			case time.Duration:
				s.now = at(k)
			case string:
				switch {
				case k == "backspaced":
					s.prompt = ""
					s.Typed(s.now)
				case len(k) == 1:
					s.press(QuestionKey{k, k})
				default:
					s.press(QuestionKey{Name: k})
				}
			}
		}
		got := permit.Choice("")
		if s.verdict != nil {
			got = s.verdict.Choice
		}
		if got != c.choice || s.prompt != c.prompt {
			t.Errorf("%s: %q, prompt %q", name, got, s.prompt)
		}
		if c.choice == "" {
			testkit.Attack(t, "typing", name)
		}
	}
}

func TestARuleIsShownAndEditedBeforeItIsSaved(t *testing.T) {
	s := &scene{QuestionModel: askedQuestion("go test ./..."), now: start}
	s.Appear(start)
	s.now = start.Add(time.Second)
	for range 4 {
		s.press(QuestionKey{Name: "down"})
	}
	s.press(QuestionKey{Name: "enter"})
	if s.verdict != nil || s.Stage != Editing || s.words() != "bash(go test ./...)" {
		t.Fatalf("%v %v %q", s.verdict, s.Stage, s.words())
	}
	s.press(QuestionKey{Name: "enter"}) // a key that repeats saves nothing
	if s.verdict != nil {
		t.Fatal("saved unseen")
	}
	s.now = s.now.Add(2 * time.Second)
	for range len("./...)") {
		s.press(QuestionKey{Name: "backspace"})
	}
	s.press(QuestionKey{"*", "*"})
	s.now = s.now.Add(2 * time.Second)
	s.press(QuestionKey{Name: "enter"})
	if s.verdict != nil || !strings.Contains(s.Wrong, "no closing parenthesis") {
		t.Fatalf("%v %q", s.verdict, s.Wrong)
	}
	s.press(QuestionKey{")", ")"})
	s.press(QuestionKey{Name: "enter"})
	if s.verdict != nil {
		t.Fatal("saved while it was typed")
	}
	s.now = s.now.Add(time.Second)
	s.press(QuestionKey{Name: "enter"})
	if s.verdict == nil || s.verdict.Choice != permit.ForProject || s.verdict.Rule != "bash(go test *)" || s.prompt != "" {
		t.Fatalf("%+v %q %q", s.verdict, s.Wrong, s.prompt)
	}
}

func TestNoBecause(t *testing.T) {
	s := &scene{QuestionModel: askedQuestion("make"), now: start}
	s.Appear(start)
	s.now = start.Add(time.Second)
	s.press(QuestionKey{Name: "down"})
	s.press(QuestionKey{Name: "enter"})
	for _, r := range "use just" {
		s.press(QuestionKey{string(r), string(r)})
	}
	s.press(QuestionKey{Name: "left"})
	s.press(QuestionKey{Name: "esc"})
	if s.Stage != Choosing || s.verdict != nil {
		t.Fatal(s.Stage, s.verdict)
	}
	s.now = s.now.Add(2 * time.Second)
	s.press(QuestionKey{Name: "down"})
	s.press(QuestionKey{Name: "enter"})
	s.now = s.now.Add(time.Second)
	s.Paste("use\njust", s.now)
	s.press(QuestionKey{Name: "enter"})
	if s.verdict == nil || s.verdict.Choice != permit.Because || s.verdict.Words != "use just" {
		t.Fatalf("%+v", s.verdict)
	}
}

func TestWhatCannotBeSavedCannotBeChosen(t *testing.T) {
	m := askedQuestion("git push")
	m.Question.NoRule = "it pushes"
	s := &scene{QuestionModel: NewQuestion(m.Question, time.Time{}), now: start}
	s.Appear(start)
	s.now = start.Add(time.Second)
	for range 9 {
		s.press(QuestionKey{Name: "down"})
	}
	if s.press(QuestionKey{Name: "enter"}); s.verdict == nil || s.verdict.Choice != permit.ForAgent {
		t.Errorf("%+v", s.verdict)
	}
}
