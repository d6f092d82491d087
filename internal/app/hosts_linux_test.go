package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/store"
	pg "ramet/internal/store/database"
	"ramet/internal/store/postgres"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// team is hosts that share one PostgreSQL: processes of the real binary, each with a
// home of its own, so that none sees the locks and sockets of another.
type team struct {
	t   *testing.T
	exe string
	db  string
	dir string // the project
	ws  *store.Store
}

func newTeam(t *testing.T) *team {
	t.Helper()
	exe := testkit.Must(built())(t)
	m := &team{t: t, exe: exe, db: pgtest.URL(t), dir: t.TempDir()}
	m.open(postgres.Open(t.Context(), m.db, postgres.Options{Cwd: m.dir}))
	return m
}

// open takes the workspace, which must be whole when the test is over.
func (m *team) open(ws *store.Store, err error) {
	t := m.t
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	testkit.OK(t, os.Mkdir(filepath.Join(m.dir, ".git"), 0o700))
	m.ws = ws
	t.Cleanup(func() {
		if _, err := ws.Audit(context.Background(), nil); err != nil {
			t.Errorf("verify: %v", err)
		}
		ws.Close()
	})
}

// host is one of them. Its leases last for hours, so that none ends before the test says so;
// see expire and giveUp. It renews them, and looks for the dead, every pulse.
type host struct {
	*team
	home         string
	lease, pulse string
	env          []string // in addition to what all have
}

const (
	testLease = "10h"
	testPulse = "200ms"
)

func (m *team) host(name string) *host {
	m.t.Helper()
	h := &host{team: m, home: filepath.Join(m.t.TempDir(), name), lease: testLease, pulse: testPulse}
	testkit.OK(m.t, os.MkdirAll(h.home, 0o700))
	return h
}

// script writes a script of a model.
func (m *team) script(lines ...string) string {
	m.t.Helper()
	f, err := os.CreateTemp(m.dir, "*.script")
	if err == nil {
		_, err = f.WriteString(strings.Join(lines, "\n"))
		f.Close()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return "script/" + f.Name()
}

// fifo makes a named pipe.
func (m *team) fifo() (path string, end *os.File) {
	m.t.Helper()
	path = filepath.Join(m.t.TempDir(), "fifo")
	return path, pipe(m.t, path)
}

// told returns when something was written into a pipe.
func (m *team) told(f *os.File) {
	m.t.Helper()
	f.SetReadDeadline(time.Now().Add(patience))
	if _, err := f.Read(make([]byte, 1)); err != nil {
		m.t.Fatalf("it never began: %v", err)
	}
}

func (m *team) agent(name string) agent.Agent {
	m.t.Helper()
	a, ok, err := m.ws.Named(context.Background(), name)
	if err != nil || !ok {
		m.t.Fatalf("no agent %s: %v", name, err)
	}
	return a
}

// record is an agent's own entries: kind and text.
func (m *team) record(a id.Agent) string {
	m.t.Helper()
	var b strings.Builder
	for e, err := range m.ws.QueryRange(context.Background(), history.Range{Agent: a, End: history.NoLimit}, history.Selection{}) {
		if err != nil {
			m.t.Fatal(err)
		}
		parts := testkit.Must(e.Parts())(m.t)
		fmt.Fprintf(&b, "%s %s\n", e.Kind, strings.ReplaceAll(history.Plain(parts), "\n", " "))
	}
	return b.String()
}

// task is a command that runs.
type task struct {
	cmd            *exec.Cmd
	stdout, stderr output
	over           chan struct{}
}

// output is read while it is written.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (h *host) begin(args ...string) *task {
	h.t.Helper()
	k := h.try(args...)
	if k == nil {
		h.t.FailNow()
	}
	return k
}

// try is begin for a goroutine.
func (h *host) try(args ...string) *task {
	k := &task{over: make(chan struct{})}
	k.cmd = exec.Command(h.exe, append([]string{"--db", h.db}, args...)...)
	k.cmd.Dir = h.dir
	k.cmd.Env = []string{"HOME=" + h.home, "RAMET_HOME=" + filepath.Join(h.home, "data"), "PATH=" + os.Getenv("PATH"), "RAMET_TEST_SCRIPTS=1", "RAMET_TEST_LEASE=" + h.lease, "RAMET_TEST_PULSE=" + h.pulse}
	k.cmd.Env = append(k.cmd.Env, h.env...)
	k.cmd.Stdout, k.cmd.Stderr = &k.stdout, &k.stderr
	if err := k.cmd.Start(); err != nil {
		h.t.Error(err)
		return nil
	}
	go func() {
		k.cmd.Wait() // its exit code is asked for by ends
		close(k.over)
	}()
	h.t.Cleanup(func() {
		k.cmd.Process.Kill()
		<-k.over
	})
	return k
}

func (k *task) signal(t *testing.T, s os.Signal) {
	t.Helper()
	testkit.OK(t, k.cmd.Process.Signal(s))
	if s == syscall.SIGSTOP {
		stopped(t, k.cmd.Process.Pid)
	}
}

// ends demands how it ended, and gives what it printed.
func (k *task) ends(t *testing.T, code int, says ...string) string {
	t.Helper()
	select {
	case <-k.over:
	case <-time.After(patience):
		t.Fatalf("it does not end:\n%s%s", k.stdout.String(), k.stderr.String())
	}
	all := k.stdout.String() + k.stderr.String()
	if got := k.cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit code %d, want %d:\n%s", got, code, all)
	}
	for _, s := range says {
		if !strings.Contains(all, s) {
			t.Errorf("it does not say %q:\n%s", s, all)
		}
	}
	return k.stdout.String()
}

func (h *host) ramet(code int, args ...string) string {
	h.t.Helper()
	return h.begin(args...).ends(h.t, code)
}

// tools are the processes whose command line holds a text.
func tools(text string) []string {
	var out []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && bytes.Contains(line, []byte(text)) {
			out = append(out, filepath.Base(filepath.Dir(f))+": "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return out
}

// expire ends the lease of an agent. Its holder must be stopped or dead, or it renews the lease.
func (m *team) expire(name string) {
	m.t.Helper()
	m.sql(`UPDATE agents SET lease_until = 1 WHERE name = $1 AND lease_owner IS NOT NULL`, name)
}

// stop stops a process between two transactions: what one has locked stays locked while it
// sleeps.
func (m *team) stop(k *task) {
	m.t.Helper()
	for m.t.Context().Err() == nil {
		k.signal(m.t, syscall.SIGSTOP)
		for range 10 {
			if m.number(`SELECT count(*) FROM pg_locks JOIN pg_class c ON c.oid = relation JOIN pg_namespace n ON n.oid = relnamespace
				WHERE mode = 'RowExclusiveLock' AND nspname LIKE current_schema() || '%'`) == 0 {
				return
			}
		}
		k.signal(m.t, syscall.SIGCONT)
	}
}

// sql changes rows of the database that the hosts share; there must be some.
func (m *team) sql(statement string, args ...any) {
	m.t.Helper()
	if m.number(`WITH changed AS (`+statement+` RETURNING 1) SELECT count(*) FROM changed`, args...) == 0 {
		m.t.Fatalf("%s changes nothing", statement)
	}
}

// number asks the database that the hosts share. RUNS is the schema of what runs need.
func (m *team) number(query string, args ...any) (n int64) {
	m.t.Helper()
	to := testkit.Must(pg.ParsePostgres(m.db))(m.t)
	ctx := context.Background()
	conn := testkit.Must(pgx.ConnectConfig(ctx, to.Config))(m.t)
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, strings.ReplaceAll(query, "RUNS", pgx.Identifier{to.Schema + "_runs"}.Sanitize()), args...).Scan(&n); err != nil {
		m.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// working is a host with an agent whose command runs: it tells that it does, and
// then blocks in a pipe.
func (h *host) working(name string) (k *task, pipe string) {
	h.t.Helper()
	began, told := h.fifo()
	block, _ := h.fifo()
	command := "echo > " + began + "; cat " + block
	args := testkit.Must(json.Marshal(map[string]string{"command": command}))(h.t)
	model := h.script(fmt.Sprintf(`{"steps": [{"text": "I work"}, {"call": "bash", "args": %s}]}`, args), `{"steps": [{"text": "late words"}]}`)
	k = h.begin("exec", name, "work", "--model", model, "--allow", "bash!("+command+")")
	h.told(told)
	return k, block
}

func TestADeadHostsAgentsAreMendedUnasked(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	a, b := m.host("a"), m.host("b")
	a.ramet(0, "fork", "--name", "ada")
	b.ramet(0, "fork", "--name", "bob")
	gate, open := m.fifo()
	// B is at work before A dies, on something else.
	busy := b.begin("exec", "bob", "hello", "--model", m.script(fmt.Sprintf(`{"steps": [{"text": "busy "}, {"wait": %q}, {"text": "done"}]}`, gate)))
	testkit.WaitUntil(t, "bob works", func() bool { return m.agent("bob").Lease.Owner != "" })
	k, pipe := a.working("ada")
	k.signal(t, syscall.SIGKILL)
	k.ends(t, -1)
	m.expire("ada")
	testkit.WaitUntil(t, "no tool of the dead is alive", func() bool { return len(tools(pipe)) == 0 })
	zero, err := m.ws.Zero(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	testkit.WaitUntil(t, "the parent has a letter", func() bool {
		letters, err := m.ws.Letters(context.Background(), zero.ID, mail.Filter{Unread: true})
		return err == nil && len(letters) == 1 && strings.Contains(letters[0].Body, "interrupted")
	})
	testkit.WaitUntil(t, "the agent is free", func() bool { return m.agent("ada").Lease.Owner == "" })
	if got := m.record(m.agent("ada").ID); !strings.Contains(got, "interrupted") || !strings.Contains(got, "tool_result interrupted") || strings.Contains(got, "mail") { // the mail is the kernel's
		t.Errorf("history\n%s", got)
	}
	testkit.Must(open.Write([]byte("x")))(t)
	busy.ends(t, 0, "busy done")
	b.ramet(0, "verify")
}
