package app_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

// served is a `ramet serve` of a stage.
type served struct {
	t     *testing.T
	base  string
	token string
}

// serve starts the server on a free port, and ends it with the test.
func (s *stage) serve(t *testing.T) *served {
	t.Helper()
	return serveWith(t, s.command("serve", "--addr", "127.0.0.1:0"), filepath.Join(filepath.Dir(s.db), "home", ".local", "share", "ramet"))
}

// serve is the same for terminals.
func (w *world) serve() *served {
	w.t.Helper()
	cmd := w.start("serve", "--addr", "127.0.0.1:0")
	return serveWith(w.t, cmd, filepath.Join(w.home, "ramet"))
}

func serveWith(t *testing.T, cmd *exec.Cmd, home string) *served {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 130 {
			t.Errorf("serve: %v", err)
		}
		exe := cmd.Path // another program may trace it
		for _, arg := range cmd.Args {
			if filepath.Base(arg) == "ramet" {
				exe = arg
			}
		}
		stop := exec.Command(exe, "server", "stop", "--force") // the kernel stays without its client
		stop.Dir, stop.Env = cmd.Dir, cmd.Env
		if out, err := stop.CombinedOutput(); err != nil && !strings.Contains(string(out), "NOT_FOUND") {
			t.Errorf("stop the kernel: %v\n%s", err, out)
		}
	})
	line := testkit.Must(bufio.NewReader(out).ReadString('\n'))(t)
	go io.Copy(io.Discard, out)
	return servedAt(t, line, home)
}

// servedAt returns what serves already, at an address that was printed.
func servedAt(t *testing.T, printed, home string) *served {
	t.Helper()
	token := testkit.Must(os.ReadFile(filepath.Join(home, "token")))(t)
	return &served{t, strings.Fields(printed)[0], strings.TrimSpace(string(token))}
}

// background starts a server that stays.
func (w *world) background() *served {
	w.t.Helper()
	return servedAt(w.t, w.ramet("serve", "--background", "--addr", "127.0.0.1:0"), filepath.Join(w.home, "ramet"))
}

// ask does one request and reads its answer, which may be empty.
func (s *served) ask(method, path, body string, into any) int {
	s.t.Helper()
	r := testkit.Must(http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body)))(s.t)
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer := testkit.Must(http.DefaultClient.Do(r))(s.t)
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil && err != io.EOF {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer.StatusCode
}

type telemetryPage struct {
	Runs []struct {
		JobType string `json:"job_type"`
		Status  string `json:"status"`
		Context struct {
			Trace string `json:"trace_id"`
			Span  string `json:"span_id"`
		} `json:"context_json"`
	} `json:"runs"`
}

// calls are the llm_call records, by trace and span, and how often each is there.
func (s *served) calls() map[string]int {
	var p telemetryPage
	s.ask("GET", "/api/v1/runs?job_type=llm_call&limit=1000", "", &p)
	out := map[string]int{}
	for _, r := range p.Runs {
		out[r.Context.Trace+" "+r.Context.Span]++
	}
	return out
}

// logged are the calls of a run's log, by trace and span.
func (s *stage) logged(t *testing.T, runID string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for line := range strings.Lines(s.must(t, "run", "events", runID, "--json")) {
		var e struct {
			Type, Trace, Span string
			TraceID           string `json:"trace_id"`
			SpanID            string `json:"span_id"`
		}
		testkit.OK(t, json.Unmarshal([]byte(line), &e))
		if strings.HasPrefix(e.Type, "LLM_") {
			out[e.TraceID+" "+e.SpanID] = true
		}
	}
	return out
}
