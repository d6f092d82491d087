package app_test

import (
	"flag"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

var update = flag.Bool("update", false, "make "+storyFile+" anew")

// storyFile is the picture of the README.
const storyFile = "../../docs/terminal.svg"

// The README's picture is true: it is the screen at the end of this story. The
// picture is made by
//
//	go test ./internal/app -run TestTheStory -update
func TestTheStory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "COLORTERM=truecolor")
	w.write("server.go", "package main\n\nimport \"net/http\"\n\nfunc main() {\n\thttp.ListenAndServe(\":8080\", nil)\n}\n")
	x := w.open(100, 30)
	x.see("Three things to try", "offline/offline")
	album(x, "first", "Three things to try", "/tour", "a two-minute tour", "/key", "add an API key", "offline/offline")
	x.say("replace :8080 with :9090 in server.go")
	x.see("wants to edit", "server.go", "❯ No", "↑↓ select")
	album(x, "question", "wants to edit", "❯ No", "Allow once", "Always allow", "↑↓ select")
	x.decide("Allow once")
	x.see("● edit", "[offline model]", "idle")
	x.say(`/fork --name docs "search for 9090 in ."`)
	x.see("[docs]", "[offline model]", "done")
	album(x, "fork", "[docs]", "forked from 0", "● grep", "6: http.ListenAndServe", "done")
	x.press(ctrlUp)
	x.see("[0]", "↓1")
	x.say(`/send docs "The port is 9090 now."`)
	x.see("Sent mail 1 to docs")
	x.say(`/fork --name tests "run wc -l server.go"`)
	x.see("[tests]", "wants to run", "wc -l server.go")
	x.press(ctrlT)
	x.see("3 agents", "├ docs", "└ tests", "? bash wc -l server.go", "waiting for your approval", "asks · ", "k · $0.00 ─", "context 1%", "↑↓ select") // all that comes by itself
	got := picture(x)
	x.press(ctrlT)
	x.decide("Allow once")
	x.see("● bash", "done")
	x.leave()

	if *update {
		testkit.OK(t, os.WriteFile(storyFile, []byte(got), 0o644))
	}
	kept := testkit.Must(os.ReadFile(storyFile))(t)
	if got, want := words(got), words(string(kept)); got != want {
		t.Errorf("the screen says\n%s\nand the picture\n%s\nTo make it anew: go test ./internal/app -run TestTheStory -update", got, want)
	}
}

var tag = regexp.MustCompile(`<[^>]*>`)

// words are those of a picture.
func words(svg string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(svg, " "))), " ")
}
