package tui

import (
	"slices"
	"testing"
)

func TestARewindAsksAboutFiles(t *testing.T) {
	me := string(who("zero"))
	plan := `call rewind {"agent":"` + me + `","to":7,"files":true,"dry_run":true}`
	for key, want := range map[string][]string{
		"c": {plan, `call rewind {"agent":"` + me + `","to":7}`},
		"b": {plan, `call rewind {"agent":"` + me + `","to":7,"files":true}`},
		"f": {plan, `call restore {"agent":"` + me + `","at":5}`},
		"n": {plan},
	} {
		s := family()
		s.answer = `{"state": {"id": 5}, "restored": ["a.txt"], "removed": ["new.txt"], "kept": [{"path": "mine", "why": "others could have changed it"}]}`
		x := perform(t, s, 80, 24)
		x.press("/rewind 7", "enter")
		x.shows("go back: /rewind 7", "restore  a.txt", "remove   new.txt", "keep     mine  (others could have changed it)", "conversation", "both")
		x.press(key)
		x.hides("go back:")
		if !slices.Equal(s.said, want) {
			t.Errorf("%s: %q, want %q", key, s.said, want)
		}
	}
}

func TestARewindWithoutFilesAsksNothing(t *testing.T) {
	me := string(who("zero"))
	for answer, line := range map[string]string{
		`{"restored": [], "removed": [], "kept": []}`: "/rewind here",
		"": "/rewind",
	} {
		s := family()
		s.answer = answer
		x := perform(t, s, 80, 24)
		x.press(line, "enter")
		label := ""
		if line == "/rewind here" {
			label = `,"label":"here"`
		}
		want := []string{`call rewind {"agent":"` + me + `"` + label + `,"files":true,"dry_run":true}`, `call rewind {"agent":"` + me + `"` + label + `}`}
		if !slices.Equal(s.said, want) {
			t.Errorf("%q", s.said)
		}
		x.hides("go back:")
	}
}

// Files that changed while a command was running are asked about, wherever files are restored.
func TestFilesThatChangedDuringACommandAreAskedAbout(t *testing.T) {
	me := string(who("zero"))
	begun := ` {"agent":"` + me + `"`
	rewind, undo := "call rewind"+begun+`,"to":7,"files":true,"dry_run":true}`, "call undo"+begun+`,"dry_run":true}`
	for _, c := range []struct {
		keys []string
		want []string
	}{
		{[]string{"/rewind 7", "enter", "b", "y"}, []string{rewind, "call rewind" + begun + `,"to":7,"files":true,"commands":true}`}},
		{[]string{"/rewind 7", "enter", "b", "k"}, []string{rewind, "call rewind" + begun + `,"to":7,"files":true,"commands":false}`}},
		{[]string{"/rewind 7", "enter", "f", "y"}, []string{rewind, "call restore" + begun + `,"at":5,"commands":true}`}},
		{[]string{"/rewind 7", "enter", "b", "n"}, []string{rewind}},
		{[]string{"/undo", "enter", "y"}, []string{undo, "call undo" + begun + `,"commands":true}`}},
		{[]string{"/undo", "enter", "k"}, []string{undo, "call undo" + begun + `,"commands":false}`}},
		{[]string{"/undo", "enter", "esc"}, []string{undo}},
	} {
		s := family()
		s.answer = `{"state": {"id": 5}, "restored": ["a.txt"], "removed": [], "kept": [{"path": "notes.txt", "why": "changed while a command was running"}]}`
		x := perform(t, s, 80, 24)
		last := len(c.keys) - 1
		x.press(c.keys[:last]...)
		x.shows("notes.txt", "keep those files")
		x.press(c.keys[last])
		x.hides("keep those files")
		if !slices.Equal(s.said, c.want) {
			t.Errorf("%q: %q, want %q", c.keys, s.said, c.want)
		}
	}
}
