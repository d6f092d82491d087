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
	x.see("Restore the files to their state before the last turn?", "keep     made  (changed while a command was running)")
	x.choose("Restore all of them")
	x.see("restored  mine", "removed   made")
	if text, err := os.ReadFile(mine); err != nil || string(text) != "old\n" {
		t.Errorf("%q, %v", text, err)
	}
	x.say("/undo")
	x.choose("Restore")
	x.see("restored  made")
	x.say("/rewind before")
	x.see("Rewind (/rewind before)?", "keep     made")
	x.choose("Both")
	x.see("These files changed while a command was running:")
	x.choose("Restore all of them")
	x.see("rewound to before")
	if _, err := os.Stat(filepath.Join(w.project, "made")); !os.IsNotExist(err) {
		t.Errorf("made is still there: %v", err)
	}
	x.leave()
}
