package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

// elsewhere is another telemetry service, which can be down.
type elsewhere struct {
	t      *testing.T
	addr   string
	socket *os.File

	mu    sync.Mutex
	calls map[string]int
	asked int
}

// newElsewhere returns a service that is down: its port is taken, so that nothing else answers
// there.
func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	fd := testkit.Must(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0))(t)
	e := &elsewhere{t: t, socket: os.NewFile(uintptr(fd), "socket"), calls: map[string]int{}}
	t.Cleanup(func() { e.socket.Close() })
	testkit.OK(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	at := testkit.Must(syscall.Getsockname(fd))(t)
	e.addr = fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
	return e
}

func (e *elsewhere) url() string { return "http://" + e.addr }

// up makes it answer, on the address that it was down on.
func (e *elsewhere) up() {
	e.t.Helper()
	err := syscall.Listen(int(e.socket.Fd()), 16)
	var l net.Listener
	if err == nil {
		l, err = net.FileListener(e.socket)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	server := &http.Server{Handler: e}
	go server.Serve(l)
	e.t.Cleanup(func() { server.Close() })
}

func (e *elsewhere) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked++
	if strings.HasSuffix(r.URL.Path, "/batch") {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var one struct {
		JobType string `json:"job_type"`
		Context struct {
			Trace string `json:"trace_id"`
			Span  string `json:"span_id"`
		} `json:"context_json"`
	}
	if r.Method == http.MethodPost && json.Unmarshal(body, &one) == nil && one.JobType == "llm_call" {
		e.calls[one.Context.Trace+" "+one.Context.Span]++
	}
	io.WriteString(w, "{}")
}

func (e *elsewhere) got() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[string]int{}
	for k, n := range e.calls {
		out[k] = n
	}
	return out
}

// noted reports whether the outboxes of a run contain all these calls.
func (s *stage) noted(t *testing.T, run string, calls map[string]bool) bool {
	t.Helper()
	boxes := testkit.Must(filepath.Glob(filepath.Join(s.dir, ".ramet", "runs", run, "telemetry_outbox*")))(t)
	var all strings.Builder
	for _, box := range boxes {
		text, _ := os.ReadFile(box)
		all.Write(text)
	}
	for call := range calls {
		_, span, _ := strings.Cut(call, " ")
		if !strings.Contains(all.String(), span) {
			return false
		}
	}
	return true
}

const calling = `name: calling
description: some calls
states: {DRAFTING: [do]}
workers:
  do:
    each: "1..6"
    prompt: 'say {{scope}}'
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`

// What waits for a service that is down goes there, by the next command that reaches it,
// and into no other store, whatever runs meanwhile.
func TestTelemetryThatWaitsKeepsItsDestination(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	recipe := filepath.Join(s.dir, "calling.yaml")
	testkit.OK(t, os.WriteFile(recipe, []byte(calling), 0o600))
	model := s.script(t, `{"repeat": true, "steps": [{"text": "said"}]}`)
	there := newElsewhere(t)
	down := s.command("run", "start", "--recipe", recipe, "--run-id", "down", "--model", model, "--no-cache")
	down.Env = append(down.Env, "TELEMETRY_API_URL="+there.url())
	if out, err := down.CombinedOutput(); err != nil || !strings.Contains(string(out), "wait to be delivered") {
		t.Fatalf("%v\n%s", err, out)
	}

	// Half of a run goes there, the rest into the store of this home.
	path, gate := s.pipe(t)
	waits := s.script(t, `{"when": "say 4", "repeat": true, "steps": [{"wait": "`+path+`"}, {"text": "said"}]}`, `{"repeat": true, "steps": [{"text": "said"}]}`)
	half := s.command("run", "start", "--recipe", recipe, "--run-id", "half", "--model", waits, "--no-cache", "--limit", "parallel=1")
	half.Env = append(half.Env, "TELEMETRY_API_URL="+there.url())
	r := s.begin(t, half)
	testkit.WaitUntil(t, "it waits", func() bool { return holds(half.Process.Pid, path) })
	var before map[string]bool
	testkit.WaitUntil(t, "all that it logged is in an outbox", func() bool {
		before = s.logged(t, "half")
		return s.noted(t, "half", before)
	})
	r.kill()
	gate.Write([]byte("."))
	s.must(t, "run", "resume", "half", "--no-cache")
	after := s.logged(t, "half")
	if dead, err := filepath.Glob(filepath.Join(s.dir, ".ramet", "runs", "half", "*.dead.jsonl")); err != nil || len(dead) > 0 {
		t.Errorf("a change of a record went to another destination than the record: %v %v", dead, err)
	}

	web := s.serve(t)
	s.must(t, "run", "start", "--recipe", recipe, "--run-id", "here", "--model", model, "--no-cache")
	want := s.logged(t, "here")
	for call := range after {
		if !before[call] {
			want[call] = true
		}
	}
	if len(before) == 0 || len(want) <= 6 {
		t.Fatalf("%d calls before, %d wanted", len(before), len(want))
	}
	testkit.WaitUntil(t, "the records of this home", func() bool { return len(web.calls()) >= len(want) })
	for call, n := range web.calls() {
		if !want[call] || n != 1 {
			t.Errorf("call %s has %d records here", call, n)
		}
	}

	there.up()
	theirs := s.logged(t, "down")
	for call := range before {
		theirs[call] = true
	}
	testkit.WaitUntil(t, "what waited is there", func() bool {
		s.must(t, "exec", "say hello", "--model", model)
		return len(there.got()) >= len(theirs)
	})
	for call, n := range there.got() {
		if !theirs[call] || n != 1 {
			t.Errorf("call %s was told %d times there", call, n)
		}
	}
	// The note goes after the last answer, by whoever delivered it: the server, or the next command.
	waiting := filepath.Join(filepath.Dir(s.db), "home", ".local", "share", "ramet", "telemetry", "waiting")
	testkit.WaitUntil(t, "no outbox is noted but the server's own", func() bool {
		s.must(t, "exec", "say hello", "--model", model)
		entries, err := os.ReadDir(waiting)
		return err == nil && len(entries) <= 1
	})
}

// An outbox that came with a project makes nobody send anything.
func TestAnOutboxInAProjectSendsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	there := newElsewhere(t)
	there.up()
	dir := filepath.Join(s.dir, ".ramet", "runs", "r1")
	testkit.OK(t, os.MkdirAll(dir, 0o700))
	text := `{"to":"` + there.url() + `"}
{"method":"POST","path":"/api/v1/runs","body":{"event_id":"11111111-2222-4333-8444-555555555555","run_id":"x","agent_name":"a","job_type":"llm_call","start_time":"2026-01-01T00:00:00Z"}}
`
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "telemetry_outbox.jsonl"), []byte(text), 0o600))
	model := s.script(t, `{"repeat": true, "steps": [{"text": "said"}]}`)
	s.serve(t)
	s.must(t, "exec", "say hello", "--model", model)
	there.mu.Lock()
	defer there.mu.Unlock()
	if there.asked != 0 {
		t.Errorf("it was asked %d times", there.asked)
	}
}
