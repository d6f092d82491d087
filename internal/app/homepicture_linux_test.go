package app_test

import (
	"bytes"
	"flag"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
)

const homeFile = "../../docs/home.svg"

// shopModel answers as the model of the README's moving picture: five agents prepare a release of a small shop.
func shopModel(asked llmtest.StrictAsked) llmtest.StrictSaid {
	task := asked.Users[len(asked.Users)-1]
	about := func(words string) bool { return strings.Contains(task, words) }
	call := func(name, args string) llmtest.StrictSaid {
		return llmtest.StrictSaid{Calls: []llmtest.StrictCall{{Name: name, Args: args}}}
	}
	said := func(text string) llmtest.StrictSaid { return llmtest.StrictSaid{Text: text} }
	switch {
	case about("Read the shop"):
		return said("Four things before the release: total loses cents, the port is fixed, price.go needs a review, and the README names no port. I suggest one agent for each.")
	case about("Review price.go"):
		if !strings.Contains(asked.Last, "func total") {
			return call("read", `{"path": "price.go"}`)
		}
		return said("One problem: total truncates. 19.99 becomes 1998 cents.")
	case about("Where is the port"):
		if !strings.Contains(asked.Last, "8080") {
			return call("grep", `{"pattern": "8080"}`)
		}
		return said("server.go is the only place. A flag with the default 8080 is enough.")
	case about("Fix the cents"):
		switch {
		case strings.Contains(asked.Last, "the cents are right"):
			return said("Fixed: total rounds now, and the check passes.")
		case strings.Contains(asked.Body, "edited price.go") || strings.Contains(asked.Last, "Round"):
			return call("bash", `{"command": "./check money"}`)
		case strings.Contains(asked.Last, "func total"):
			return call("edit", `{"path": "price.go", "old_string": "int(price * 100)", "new_string": "int(math.Round(price * 100))"}`)
		}
		return call("read", `{"path": "price.go"}`)
	}
	return said("The README names the port now.")
}

// TestFiveAgentsOnHome makes and checks the README's moving picture: five agents work on one project, the one that needs an answer
// is first, and is answered in place.
//
//	go test ./internal/app -run TestFiveAgentsOnHome -update
func TestFiveAgentsOnHome(t *testing.T) {
	t.Parallel()
	thinking := make(chan struct{}) // closed when the agent docs gets its answer
	model := &llmtest.StrictServer{Window: 1 << 17, Play: shopModel}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		if err != nil {
			return
		}
		if bytes.Contains(body, []byte("Name the port")) {
			select {
			case <-thinking:
			case <-in.Context().Done():
			}
		}
		in.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(out, in)
	}))
	t.Cleanup(server.Close)
	w := newWorld(t, "COLORTERM=truecolor", "VLLM_BASE_URL="+server.URL, "RAMET_MODEL=vllm/qwen3-coder")
	w.project = filepath.Join(filepath.Dir(w.project), "shop")
	testkit.OK(t, os.MkdirAll(filepath.Join(w.project, ".ramet"), 0o700))
	w.write("server.go", "package main\n\nimport \"net/http\"\n\nfunc main() {\n\thttp.ListenAndServe(\":8080\", nil)\n}\n")
	w.write("price.go", "package main\n\nimport \"math\"\n\nfunc total(price float64) int {\n\treturn int(price * 100)\n}\n\nvar _ = math.Pi\n")
	w.write("check", "#!/bin/sh\ngrep -q Round price.go && echo 'ok: the cents are right'\n")
	testkit.OK(t, os.Chmod(filepath.Join(w.project, "check"), 0o700))
	x := w.open(132, 24)
	x.see("vllm/qwen3-coder")
	x.say("Read the shop. What is left before the release?")
	x.see("one agent for each", "idle")
	for _, child := range []struct{ line, until string }{
		{`/fork --name review "Review price.go."`, "1998 cents"},
		{`/fork --name port "Where is the port set?"`, "default 8080 is enough"},
		{`/fork --name docs "Name the port in the README."`, "[docs]"},
		{`/fork --name money "Fix the cents in price.go."`, "wants to edit"},
	} {
		x.say(child.line)
		x.see(child.until)
		x.press(ctrlUp)
		x.see("[0]", "↓")
	}
	var frames []string
	shot := func(says ...string) {
		x.see(says...)
		frames = append(frames, frame(x))
	}
	x.press("\x1b[D") // Left at an empty prompt
	shot("needs you", "working", "5 agents", "Name the port in", "server.go is the only", "One problem: total")
	for !strings.Contains(cursor(x.text()), "money") {
		before := cursor(x.text())
		x.press("\x1b[A")
		x.until("another row than "+before, func(s string) bool { return cursor(s) != before })
	}
	shot("waiting for your approval")
	answer := func(question string) {
		x.press(" ")
		shot(question, "❯ No")
		x.decide("Allow once")
	}
	answer("wants to edit")
	shot("./check money", "waiting for your approval")
	answer("wants to run")
	x.until("money is done", func(s string) bool { return strings.Contains(cursor(s), "done") })
	shot("and the check passes")
	close(thinking)
	shot("The README names the port", "the check passes")
	x.press("q")

	if *update {
		testkit.OK(t, os.WriteFile(homeFile, []byte(film(x, frames, 2.5)), 0o644))
	}
	kept := testkit.Must(os.ReadFile(homeFile))(t)
	parts := strings.Split(string(kept), "<g")[1:]
	wanted := []string{"needs you", "waiting for your approval", "math.Round", "./check money", "Allow once", "the check passes", "docs"}
	if len(parts) != len(frames) || len(parts) != len(wanted) {
		t.Fatalf("the picture has %d parts, the test %d: run it with -update", len(parts), len(frames))
	}
	for i, says := range wanted {
		if !strings.Contains(words("<g"+parts[i]), says) {
			t.Errorf("part %d of the picture does not show %q: run the test with -update", i, says)
		}
	}
}

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
