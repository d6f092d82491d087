package app_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// A letter that is written in another shell begins a turn in the terminal that is open.
func TestALetterOfAnotherShellWakesInTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(`{"when": "are you there", "repeat": true, "steps": [{"text": "I am here"}]}`)
	w.ramet("config", "set", "model", "script/"+filepath.Join(w.home, "script")) // no client asks for her turn
	w.ramet("fork", "--name", "ada")
	x := w.open(100, 30)
	x.see("[0]", "script/")
	if said := w.ramet("send", "ada", "are you there"); strings.Contains(said, "waits") {
		t.Errorf("it is told to wait: %s", said)
	}
	eventually(t, "ada answers", func() bool { return strings.Contains(w.ramet("log", "ada"), "I am here") })
}
