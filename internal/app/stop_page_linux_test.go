package app_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// page is the page of a server in Chromium, at one agent: see web/test/stop.mjs.
type page struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

const webSources = "../../web"

// browser finds what the page is shown with, and brings its libraries.
func browser(t *testing.T) (node, chromium string) {
	t.Helper()
	testkit.InstallNPM(t, webSources)
	return testkit.FindNode(t), testkit.Need(t, "chromium")
}

// linkIn returns the link in what a command printed.
func linkIn(printed string) string { return regexp.MustCompile(`http\S+`).FindString(printed) }

// page opens the page of the server at ada.
func (c *cell) page() *page {
	c.t.Helper()
	return openPage(c.t, "test/stop.mjs", c.here.ramet, "ada")
}

// openPage opens the page at an agent, driven by a script. ramet runs a command line.
func openPage(t *testing.T, script string, ramet func(...string) string, agent string) *page {
	t.Helper()
	node, chromium := browser(t)
	var found struct{ UUID string }
	testkit.OK(t, json.Unmarshal([]byte(ramet("show", agent, "--json")), &found))
	cmd := exec.Command(node, script, chromium, linkIn(ramet("web")), found.UUID)
	cmd.Dir = webSources
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &page{t, in, bufio.NewReader(out)}
}

// says waits for a word of the page.
func (p *page) says(want string) {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, want) {
		p.t.Fatalf("the page: %q %v, want %s", line, err, want)
	}
	p.t.Logf("the page: %s", strings.TrimSpace(line))
}

func (p *page) press() { p.tell("stop") }

func (p *page) tell(line string) {
	testkit.Must(io.WriteString(p.in, line+"\n"))(p.t)
}

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
	walk := exec.CommandContext(t.Context(), node, "test/program.mjs", chromium, linkIn(s.must(t, "web")), kid.UUID)
	walk.Dir = webSources
	if shots := os.Getenv("RAMET_WEB_SHOTS"); shots != "" {
		walk.Args = append(walk.Args, shots)
	}
	if out, err := walk.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
