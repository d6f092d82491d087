package app_test

import (
	"os"
	"path/filepath"
	"testing"
)

// What a command of an agent did to files is seen and taken back in the terminal.
func TestFilesAreUndoneInTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RAMET_ALLOW=bash")
	mine := filepath.Join(w.project, "mine")
	if err := os.WriteFile(mine, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := w.open(100, 30)
	x.see("[0]", "offline")
	x.say("/mark before")
	x.see("mark before")
	x.say("run echo made > made; echo new > mine")
	x.see("2 files changed")
	x.say("/diff")
	x.see("+++ b/made", "-old", "+new")
	x.say("/undo")
	x.see("Undo what the last turn did to files?", "keep     made  (changed while a command was running)", "keep those files")
	x.press("y")
	x.see("restored  mine", "removed   made")
	if text, err := os.ReadFile(mine); err != nil || string(text) != "old\n" {
		t.Errorf("%q, %v", text, err)
	}
	x.say("/undo")
	x.see("Undo what the last turn did to files?")
	x.press("y")
	x.see("restored  made")
	x.say("/rewind before")
	x.see("go back: /rewind before", "keep     made", "conversation", "both")
	x.press("b")
	x.see("These files changed while a command was running:")
	x.press("y")
	x.see("rewound to before")
	if _, err := os.Stat(filepath.Join(w.project, "made")); !os.IsNotExist(err) {
		t.Errorf("made is still there: %v", err)
	}
	x.leave()
}
