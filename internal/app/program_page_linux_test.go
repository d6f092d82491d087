package app_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// What a foreign program offers and says is used on the page of a real server: its modes, models and commands, a
// question, thoughts, a plan, a difference, a picture and a stop: see web/test/program.mjs.
func TestAProgramOnThePage(t *testing.T) {
	t.Parallel()
	node, chromium := browser(t)
	s := driven(t)
	testkit.OK(t, os.WriteFile(filepath.Join(s.dir, "note.txt"), []byte("one\ntwo\n"), 0o600))
	s.must(t, "fork", "--name", "kid", "--driver", "fake")
	var kid struct{ UUID string }
	testkit.OK(t, json.Unmarshal([]byte(s.must(t, "show", "kid", "--json")), &kid))
	s.serve(t)
	link := ""
	for _, word := range strings.Fields(s.must(t, "web")) {
		if strings.HasPrefix(word, "http") {
			link = word
		}
	}
	walk := exec.CommandContext(t.Context(), node, "test/program.mjs", chromium, link, kid.UUID)
	walk.Dir = webSources
	if shots := os.Getenv("RAMET_WEB_SHOTS"); shots != "" {
		walk.Args = append(walk.Args, shots)
	}
	if out, err := walk.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
