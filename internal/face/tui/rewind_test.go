package tui

import (
	"fmt"
	"slices"
	"testing"
)

func TestARewindAsksAboutFiles(t *testing.T) {
	me := string(who("zero"))
	plan := `call rewind {"agent":"` + me + `","to":7,"files":true,"dry_run":true}`
	for answer, want := range map[string][]string{
		"Rewind the conversation": {plan, `call rewind {"agent":"` + me + `","to":7}`},
		"Both":                    {plan, `call rewind {"agent":"` + me + `","to":7,"files":true}`},
		"Restore the files":       {plan, `call restore {"agent":"` + me + `","at":5}`},
		"Cancel":                  {plan},
	} {
		s := family()
		s.answer = `{"state": {"id": 5}, "restored": ["a.txt"], "removed": ["new.txt"], "kept": [{"path": "mine", "why": "others could have changed it"}]}`
		x := perform(t, s, 80, 24)
		x.press("/rewind 7", "enter")
		x.shows("Rewind (/rewind 7)?", "restore  a.txt", "remove   new.txt", "keep     mine  (others could have changed it)")
		x.answer(answer)
		x.hides("Rewind (/rewind")
		if !slices.Equal(s.said, want) {
			t.Errorf("%s: %q, want %q", answer, s.said, want)
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
		x.hides("Rewind (/rewind")
	}
}

// Files that changed while a command was running are asked about, wherever files are restored.
func TestFilesThatChangedDuringACommandAreAskedAbout(t *testing.T) {
	me := string(who("zero"))
	begun := ` {"agent":"` + me + `"`
	rewind, undo := "call rewind"+begun+`,"to":7,"files":true,"dry_run":true}`, "call undo"+begun+`,"dry_run":true}`
	for _, c := range []struct {
		line    string
		answers []string
		want    []string
	}{
		{"/rewind 7", []string{"Both", "Restore all"}, []string{rewind, "call rewind" + begun + `,"to":7,"files":true,"commands":true}`}},
		{"/rewind 7", []string{"Both", "Keep files"}, []string{rewind, "call rewind" + begun + `,"to":7,"files":true,"commands":false}`}},
		{"/rewind 7", []string{"Restore the files", "Restore all"}, []string{rewind, "call restore" + begun + `,"at":5,"commands":true}`}},
		{"/rewind 7", []string{"Both", "Cancel"}, []string{rewind}},
		{"/undo", []string{"Restore all"}, []string{undo, "call undo" + begun + `,"commands":true}`}},
		{"/undo", []string{"Keep files"}, []string{undo, "call undo" + begun + `,"commands":false}`}},
		{"/undo", []string{"Cancel"}, []string{undo}},
	} {
		s := family()
		s.answer = `{"state": {"id": 5}, "restored": ["a.txt"], "removed": [], "kept": [{"path": "notes.txt", "why": "changed while a command was running"}]}`
		x := perform(t, s, 80, 24)
		x.press(c.line, "enter")
		for _, answer := range c.answers {
			x.shows("notes.txt")
			x.answer(answer)
		}
		x.hides("Enter confirm")
		if !slices.Equal(s.said, c.want) {
			t.Errorf("%q: %q, want %q", c.answers, s.said, c.want)
		}
	}
}

// A sentence that is typed while a box asks goes into the prompt and decides nothing.
func TestASentenceAnswersNoBox(t *testing.T) {
	for _, line := range []string{"/undo", "/rewind 7", "/kill ada"} {
		s := family()
		s.answer = `{"state": {"id": 5}, "restored": ["a.txt"], "removed": [], "kept": [{"path": "notes.txt", "why": "changed while a command was running"}]}`
		x := perform(t, s, 80, 24)
		x.press(line, "enter")
		asked := len(s.said)
		x.wait(2 * SinceAppeared)
		x.press("down", "why did you keep both? you can fix it, bye")
		x.shows("Enter confirm", "❯ why did you keep both? you can fix it, bye", "❯ Cancel")
		x.press("enter") // sends the sentence
		if len(s.said) != asked+1 || s.said[asked] != fmt.Sprintf("turn zer %q", "why did you keep both? you can fix it, bye") {
			t.Errorf("%s: %q", line, s.said)
		}
		x.press("esc")
		x.hides("Enter confirm")
	}
}
