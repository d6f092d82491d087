package app_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
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

// page opens the page of the server at ada.
func (c *cell) page() *page {
	c.t.Helper()
	node, chromium := browser(c.t)
	var ada struct{ UUID string }
	testkit.OK(c.t, json.Unmarshal([]byte(c.here.ramet("show", "ada", "--json")), &ada))
	link := ""
	for _, word := range strings.Fields(c.here.ramet("web")) {
		if strings.HasPrefix(word, "http") {
			link = word
		}
	}
	cmd := exec.Command(node, "test/stop.mjs", chromium, link, ada.UUID)
	cmd.Dir = webSources
	in, err := cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &page{c.t, in, bufio.NewReader(out)}
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

func (p *page) press() {
	testkit.Must(io.WriteString(p.in, "stop\n"))(p.t)
}
