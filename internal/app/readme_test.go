package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// Everything that the README, the tutorial and their relatives print is printed: each console block is
// carried out by a shell with the built binary, in a home and project that are
// fresh for each chapter.
func TestTheReadmesTourIsTrue(t *testing.T) {
	t.Parallel()
	var text string
	for _, name := range []string{"README.md", "docs/tutorial.md", "docs/runs.md", "docs/ledger.md"} {
		page := testkit.Must(os.ReadFile("../../" + name))(t)
		if lines := strings.Count(string(page), "\n"); name == "README.md" && lines > 200 {
			t.Errorf("%s has %d lines; 200 are the most, the rest belongs to docs", name, lines)
		}
		text += "\n## " + name + "\n" + string(page)
	}
	exe := testkit.Must(released())(t)
	bin := filepath.Dir(exe)
	steps := tour(text)
	if len(steps) < 10 {
		t.Fatalf("there is a tour of %d steps", len(steps))
	}
	var project, chapter string
	for _, s := range steps {
		if s.chapter != chapter {
			project, chapter = t.TempDir(), s.chapter
		}
		cmd := exec.Command("sh", "-c", "{ "+s.command+"\n} 2>&1")
		cmd.Dir = project
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(project, "home")}
		out, _ := cmd.CombinedOutput() // the tour ends with an error, on purpose
		if got, want := steady(string(out)), steady(s.output); got != want {
			t.Fatalf("$ %s\nprints\n%s\nand the page says\n%s", s.command, out, s.output)
		}
	}
}

type step struct{ chapter, command, output string }

// tour reads the console blocks: commands behind "$ ", output below.
func tour(readme string) []step {
	var steps []step
	inside, chapter := false, ""
	for line := range strings.Lines(readme) {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = strings.HasPrefix(line, "```console")
		case !inside && strings.HasPrefix(line, "## "):
			chapter = line
		case inside && strings.HasPrefix(line, "$ "):
			steps = append(steps, step{chapter: chapter, command: strings.TrimSpace(line[2:])})
		case inside:
			steps[len(steps)-1].output += line
		}
	}
	return steps
}

var (
	uuid  = regexp.MustCompile(`\b[A-Za-z0-9][A-Za-z0-9_-]{21}([\s` + "`" + `]|$)`)
	short = regexp.MustCompile(`(^|[\s(])[A-Za-z0-9][A-Za-z0-9_-]{7}(\)|  idle|  done|  killed| after)`)
	stamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z`)
	age   = regexp.MustCompile(`\b\d+s\b`)
	event = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
)

// steady hides what differs from run to run: ids that are drawn, and times.
func steady(s string) string {
	s = event.ReplaceAllString(s, "EVENT")
	s = uuid.ReplaceAllString(s, "UUID$1")
	s = short.ReplaceAllString(s, "${1}SHORT$2")
	s = stamp.ReplaceAllString(s, "TIME")
	return age.ReplaceAllString(s, "AGE")
}
