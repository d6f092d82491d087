package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/testkit"
)

// An agent whose turns begin and end all the time is forked as fast as that goes, over HTTP
// and on the command line, on both stores: nobody is refused for the lease that its own kernel
// takes and gives back.
func TestForksOfAWorkingAgent(t *testing.T) {
	t.Parallel()
	forkWhileItWorks(t, 40, 3)
}

func TestForksOfAWorkingAgentSoak(t *testing.T) {
	testkit.SoakOnly(t)
	if testkit.SoakOn() {
		forkWhileItWorks(t, 50_000, 500)
	} else {
		forkWhileItWorks(t, 1000, 20)
	}
}

// forkWhileItWorks forks so often over HTTP, and on the command line, on each store.
func forkWhileItWorks(t *testing.T, over int64, typed int) {
	for _, store := range []string{"SQLite", "PostgreSQL"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			m := newTeam(t)
			h := m.host("a")
			if store == "SQLite" {
				own := *m
				own.db = filepath.Join(h.home, "own.db")
				h.team = &own
			}
			h.ramet(0, "fork", "--name", "ada")
			b := newBusy(t, h)
			var forked atomic.Int64
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for (forked.Add(1) <= over || b.turns.Load() < 2) && !t.Failed() {
						b.must("POST", "/fork", `{}`, http.StatusCreated)
					}
				})
			}
			all.Go(func() {
				for range typed {
					k := h.try("fork", "ada")
					if <-k.over; k.cmd.ProcessState.ExitCode() != 0 {
						t.Errorf("fork: %s", k.stderr.String())
						return
					}
				}
			})
			all.Wait()
			b.stop()
			t.Logf("%d and %d forks beside %d turns, none was refused", over, typed, b.turns.Load())
		})
	}
}

// busy is a server whose agent ada has one turn after the other.
type busy struct {
	t     *testing.T
	at    *served
	over  chan struct{} // closed: it is to stop
	ended chan struct{} // closed: it has
	turns atomic.Int64
}

func newBusy(t *testing.T, h *host) *busy {
	cmd := exec.Command(h.exe, "--db", h.db, "serve", "--addr", "127.0.0.1:0")
	cmd.Dir, cmd.Env = h.dir, []string{"HOME=" + h.home, "RAMET_HOME=" + filepath.Join(h.home, "data"), "PATH=" + os.Getenv("PATH"),
		"RAMET_TEST_SCRIPTS=1", "RAMET_TEST_LEASE=" + h.lease, "RAMET_MODEL=" + h.script(`{"repeat": true, "steps": [{"text": "here"}]}`)}
	b := &busy{t: t, at: serveWith(t, cmd, filepath.Join(h.home, "data")), over: make(chan struct{}), ended: make(chan struct{})}
	go b.work()
	return b
}

// work begins turns, and waits for the end of each.
func (b *busy) work() {
	defer close(b.ended)
	for ; !b.t.Failed(); b.turns.Add(1) {
		if !b.must("POST", "/prompt", `{"text": "go on"}`, http.StatusAccepted) {
			return
		}
		for late := time.Now().Add(patience); ; {
			var now struct{ State struct{ Word string } }
			_, said := b.ask("GET", "", "")
			if json.Unmarshal(said, &now) == nil && now.State.Word != "working" {
				break
			}
			if time.Now().After(late) {
				b.t.Errorf("a turn does not end: %s", said)
				return
			}
		}
		select {
		case <-b.over:
			return
		default:
		}
	}
}

// stop ends the work.
func (b *busy) stop() {
	close(b.over)
	<-b.ended
}

// must demands an answer.
func (b *busy) must(method, path, body string, status int) bool {
	got, said := b.ask(method, path, body)
	if got != status {
		b.t.Errorf("%s %s: status %d: %s", method, path, got, said)
	}
	return got == status
}

// ask asks for something of the agent, from any goroutine.
func (b *busy) ask(method, path, body string) (int, []byte) {
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.at.base+"/api/v1/agents/ada"+path, strings.NewReader(body))
	if err != nil {
		return 0, []byte(err.Error())
	}
	r.Header.Set("Authorization", "Bearer "+b.at.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, fmt.Append(nil, err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, fmt.Append(nil, err)
	}
	return answer.StatusCode, said
}
