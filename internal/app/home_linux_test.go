package app_test

import (
	"strings"
	"testing"
)

// cursor returns the selected row of Home.
func cursor(screen string) string {
	for l := range strings.Lines(screen) {
		if strings.HasPrefix(l, "▌ ") {
			return l
		}
	}
	return ""
}

// TestHomeOnTheScreen works in Home on a real terminal: an agent that needs you is first, is answered in place, and the rows follow
// what happens; a filter, a fork, mail and a kill from there.
func TestHomeOnTheScreen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "COLORTERM=truecolor")
	w.write("server.go", "package main\n\nimport \"net/http\"\n\nfunc main() {\n\thttp.ListenAndServe(\":8080\", nil)\n}\n")
	x := w.open(120, 26)
	x.see("offline/offline")
	for _, child := range []struct{ line, ends string }{
		{`/fork --name docs "search for 8080 in ."`, "done"},
		{`/fork --name tests "run wc -l server.go"`, "wants to run"},
	} {
		x.say(child.line)
		x.see(child.ends)
		x.press(ctrlUp)
		x.see("[0]", "↓")
	}
	to := func(name string) {
		t.Helper()
		for range 6 {
			if strings.Contains(cursor(x.text()), name) {
				return
			}
			before := cursor(x.text())
			x.press("\x1b[A")
			x.until("another row than "+before, func(s string) bool { return cursor(s) != before })
		}
		t.Fatalf("no row of %s\n%s", name, x.text())
	}

	x.press("\x1b[D") // Left at an empty prompt
	x.see("needs you", "tests", "asks", "done", "docs", "idle", "Enter open")
	if now := cursor(x.text()); !strings.Contains(now, " 0 ") {
		t.Errorf("the cursor is on %q, not on who was current", now)
	}
	to("tests")
	x.see("? bash wc -l server.go", "waiting for your approval") // what it asks, at the right
	album(x, "home", "needs you", "asks", "done", "idle", "Space answer")
	albumPage(w)
	x.press(" ")
	x.see("tests wants to run", "❯ No", "Allow once", "Enter answer", "↑↓ select")
	for range 2 {
		before := highlight(x.text())
		x.press(down)
		x.until("another highlight", func(s string) bool { return highlight(s) != before })
	}
	x.see("❯ Allow once")
	album(x, "answer", "tests wants to run", "❯ Allow once", "Enter answer")
	x.press(enter)
	x.see("tests done", "│ 7 server.go", "Ran wc -l server.go") // the row stays where the cursor is

	x.press("/")
	x.press("docs")
	x.until("only docs", func(s string) bool { return strings.Contains(s, "docs") && !strings.Contains(s, "tests ") })
	x.press(escape)
	x.gone("Esc show all") // a key that came with the Esc would be another key
	x.see("tests", "docs")
	x.gone("needs you")
	to("docs")
	x.press("k")
	x.see("Kill docs?")
	album(x, "kill", "Kill docs?", "tests")
	x.press("y")
	x.gone("› docs")
	x.press(enter)
	x.leave()
	x = w.open(100, 14, "resume") // another day, from any folder
	x.see("project", "2 agents", "Enter open")
	album(x, "resume", "type to search", "2 agents", "Enter open")
	x.press(enter)
	x.see("[0]", "forked tests", "offline/offline")
	x.leave()
}
