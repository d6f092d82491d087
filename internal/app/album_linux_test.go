package app_test

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// albumFolder holds the pictures of docs/walkthrough.md, each a screen of a test.
const albumFolder = "../../docs/walkthrough"

// album keeps the screen that stands there as a picture of the walk-through, with -update; without, it
// demands that the picture kept says the same things.
func album(x *terminal, name string, says ...string) {
	x.t.Helper()
	x.see(says...)
	path := filepath.Join(albumFolder, name+".svg")
	if *update {
		testkit.OK(x.t, os.WriteFile(path, []byte(anywhere(picture(x))), 0o644))
	}
	kept := testkit.Must(os.ReadFile(path))(x.t)
	for _, s := range says {
		if !strings.Contains(words(string(kept)), s) {
			x.t.Errorf("%s does not say %q: go test ./internal/app -run '%s' -update", path, s, x.t.Name())
		}
	}
}

var (
	folders = regexp.MustCompile(`/[^\s<]*/Test\w+/\d+/project`)
	days    = regexp.MustCompile(`\b20\d\d-\d\d-\d\d \d\d:\d\d\b`)
)

// anywhere is a picture without the folder in which the test stood, and the time.
func anywhere(svg string) string {
	svg = days.ReplaceAllString(svg, "2026-11-01 09:30")
	return folders.ReplaceAllStringFunc(svg, func(s string) string { return fmt.Sprintf("%-*s", len(s), "/home/you/cart") })
}

// albumPage keeps the page of a world as it is now, with -update: only Chromium can draw it, and what it
// shows its own tests hold against the page. Without, a picture must be there.
func albumPage(w *world) {
	w.t.Helper()
	path := filepath.Join(albumFolder, "page.png")
	if *update {
		node, chromium := browser(w.t)
		server := w.start("serve", "--addr", "127.0.0.1:0")
		testkit.OK(w.t, server.Start())
		defer server.Wait()
		defer server.Process.Signal(os.Interrupt)
		link := ""
		eventually(w.t, "the server answers", func() bool {
			cmd := w.start("web")
			out, err := cmd.Output()
			link = strings.TrimSpace(string(out))
			return err == nil
		})
		to := testkit.Must(filepath.Abs(path))(w.t)
		cmd := exec.CommandContext(w.t.Context(), node, "test/picture.mjs", chromium, link, to)
		cmd.Dir = webSources
		if out, err := cmd.CombinedOutput(); err != nil {
			w.t.Fatalf("%v\n%s", err, out)
		}
	}
	data := testkit.Must(os.ReadFile(path))(w.t)
	if _, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || len(data) > 200<<10 {
		w.t.Errorf("%s has %d bytes: %v", path, len(data), err)
	}
}

// Every picture of the album stands in the walk-through, and the walk-through has no others.
func TestTheWalkThroughHasItsPictures(t *testing.T) {
	text := testkit.Must(os.ReadFile(filepath.Join(albumFolder, "..", "walkthrough.md")))(t)
	kept := testkit.Must(os.ReadDir(albumFolder))(t)
	for _, k := range kept {
		if !strings.Contains(string(text), "](walkthrough/"+k.Name()+")") {
			t.Errorf("%s stands in no part of the walk-through", k.Name())
		}
	}
	if shown := strings.Count(string(text), "](walkthrough/"); shown != len(kept) {
		t.Errorf("the walk-through shows %d pictures, of %d that there are", shown, len(kept))
	}
}
