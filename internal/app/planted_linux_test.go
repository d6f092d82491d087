package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ramet/internal/testkit"
)

// planted is a credential of ours that a user says by mistake, on every face.
const planted = "sk-ant-planted-0123456789-abcdefghij"

// listener is a vendor's server that notes what it is sent.
type listener struct {
	mu     sync.Mutex
	bodies [][]byte
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	l.mu.Lock()
	l.bodies = append(l.bodies, body)
	l.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	writeAnthropic(w, &reply{in: 3, out: 7, parts: []said{{kind: "say", pieces: []string{"you said " + planted[:9], planted[9:] + " to me"}}}})
}

// Whoever writes, on whatever face: not a byte of our own key is stored, sent to a model or
// printed.
func TestOurKeyIsNowhereWhoeverWritesIt(t *testing.T) {
	t.Parallel()
	vendor := &listener{}
	server := httptest.NewServer(vendor)
	t.Cleanup(server.Close)
	w := newWorld(t, "ANTHROPIC_API_KEY="+planted, "ANTHROPIC_BASE_URL="+server.URL)
	w.env = append(w.env, "RAMET_MODEL=anthropic/claude-sonnet-4-5")
	said := "my key is " + planted + ", keep it"
	var printed bytes.Buffer
	run := func(args ...string) {
		t.Helper()
		cmd := w.start(args...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("ramet %v: %v\n%s", args, err, out)
		}
		fmt.Fprintf(&printed, "$ %s\n%s", args[0], out)
	}
	everyVerb := func(face string) {
		run("exec", "--fork", "--name", face+"-exec", said)
		run("exec", face+"-exec", said)
		run("fork", "--name", face+"-fork", "--prompt", said)
		run("exec", face+"-fork", "--continue", "--json")
		run("append", face+"-fork", said)
		run("append", face+"-fork", "--kind", "system", said)
		run("append", face+"-fork", "--kind", "assistant", said)
		run("append", face+"-fork", "--kind", "note", said)
		run("mark", face+"-fork", "m "+planted)
		run("send", face+"-fork", said)
		run("send", "0", "--from", face+"-fork", said)
		run("read", face+"-fork")
		run("kill", face+"-exec", "--reason", "because of "+planted)
		run("log", face+"-fork")
		run("export", face+"-fork", "--format", "md")
	}
	everyVerb("cli")

	// The same beside a server, which runs the turns; and over HTTP.
	site := w.serve()
	everyVerb("served")
	for _, r := range []struct{ path, body string }{
		{"/api/v1/agents/0/prompt", `{"text":%q}`},
		{"/api/v1/agents/0/fork", `{"name":"http-fork","prompt":%q}`},
		{"/api/v1/agents/0/send", `{"body":%q}`},
		{"/api/v1/agents/cli-fork/kill", `{"confirm":1,"cascade":false,"reason":%q}`},
	} {
		var answer json.RawMessage
		if status := site.ask("POST", r.path, fmt.Sprintf(r.body, said), &answer); status >= 300 {
			t.Fatalf("%s: %d %s", r.path, status, answer)
		}
		fmt.Fprintf(&printed, "POST %s\n%s\n", r.path, answer)
	}
	for _, path := range []string{"/api/v1/agents", "/api/v1/agents/0/messages", "/api/v1/agents/0/mail", "/api/v1/agents/http-fork/messages"} {
		var answer json.RawMessage
		site.ask("GET", path, "", &answer)
		fmt.Fprintf(&printed, "GET %s\n%s\n", path, answer)
	}

	// And from the terminal.
	x := w.open(100, 30)
	x.see("[0]")
	x.say(said)
	x.see("redacted:")
	x.say(`/fork --name tui-fork "` + said + `"`)
	x.see("[tui-fork]")
	x.say(`/send 0 "` + said + `"`)
	x.see("mail message")
	x.say("/mark " + planted[:20])
	x.leaveSure()

	vendor.mu.Lock()
	defer vendor.mu.Unlock()
	if len(vendor.bodies) < 8 {
		t.Fatalf("only %d requests came", len(vendor.bodies))
	}
	for i, body := range vendor.bodies {
		if bytes.Contains(body, []byte(planted)) {
			t.Errorf("request %d holds the key: %s", i, body)
		}
	}
	for line := range bytes.Lines(printed.Bytes()) {
		if bytes.Contains(line, []byte(planted)) {
			t.Errorf("printed: %s", line)
		}
	}
	looked := 0
	err := filepath.WalkDir(w.home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Base(path) == "screen.json" { // the user's own drafts
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		looked++
		if n := bytes.Count(content, []byte(planted)); n > 0 {
			t.Errorf("%s holds the key %d times", strings.TrimPrefix(path, w.home), n)
		}
		return nil
	})
	if err != nil || looked < 3 {
		t.Fatalf("looked at %d files: %v", looked, err)
	}
	for i := range vendor.bodies {
		testkit.Attack(t, "key", fmt.Sprint("a face of the user, request ", i+1))
	}
}
