package riverqueue_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"ramet/internal/runner"
	"ramet/internal/runner/riverqueue"
	"ramet/internal/store/database"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
	"ramet/internal/testkit/runtest"
)

// The test binary is a host that never ends a job when this variable holds its name.
const hostEnv = "RAMET_QUEUE_HOST"

func TestMain(m *testing.M) {
	if name := os.Getenv(hostEnv); name != "" {
		os.Exit(neverEnding(os.Args[1], name))
	}
	os.Exit(pgtest.Main(m))
}

// neverEnding does jobs of the queue "work" two at a time, names each, and ends none before
// it is told to.
func neverEnding(address, name string) int {
	ctx := context.Background()
	q, err := riverqueue.Open(ctx, address, name)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	err = q.Serve(ctx, []string{"work"}, 2, func(ctx context.Context, j runner.Enqueued) error {
		fmt.Println(j.ID)
		<-ctx.Done()
		fmt.Println("end " + j.ID)
		return ctx.Err()
	})
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func TestQueue(t *testing.T) {
	runtest.RunQueueTests(t, func(t *testing.T) func(string) runtest.Queue {
		address := place(t)
		return func(host string) runtest.Queue { return open(t, address, host) }
	})
}

// place is a place for queues on PostgreSQL. No goroutine is left there.
func place(t *testing.T) string {
	t.Helper()
	address := pgtest.URL(t)
	t.Cleanup(func() { drop(t, address) })
	runtest.Leakless(t)
	return address
}

func open(tb testing.TB, address, host string) *riverqueue.Queue {
	tb.Helper()
	q := testkit.Must(riverqueue.Open(tb.Context(), address, host))(tb)
	tb.Cleanup(func() {
		if err := q.Close(); err != nil {
			tb.Error(err)
		}
	})
	return q
}

// drop removes the schema of the queue beside that of a URL.
func drop(tb testing.TB, address string) {
	tb.Helper()
	query(tb, address, `DROP SCHEMA IF EXISTS `+pgx.Identifier{schemaOf(tb, address)}.Sanitize()+` CASCADE`)
}

func schemaOf(tb testing.TB, address string) string {
	pg := testkit.Must(database.ParsePostgres(address))(tb)
	return riverqueue.Besides(pg.Schema)
}

// table is River's table of jobs.
func table(tb testing.TB, address string) string {
	return pgx.Identifier{schemaOf(tb, address), "river_job"}.Sanitize()
}

func query(tb testing.TB, address, sql string, args ...any) [][]any {
	tb.Helper()
	pg := testkit.Must(database.ParsePostgres(address))(tb)
	pg.Config.RuntimeParams["application_name"] = "the test itself"
	pg.Config.RuntimeParams["client_min_messages"] = "warning"
	ctx := context.Background()
	conn := testkit.Must(pgx.ConnectConfig(ctx, pg.Config))(tb)
	defer conn.Close(ctx)
	rows := testkit.Must(conn.Query(ctx, sql, args...))(tb)
	out := testkit.Must(pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() }))(tb)
	return out
}

// host is another process that never ends a job.
type host struct {
	t     testing.TB
	name  string
	cmd   *exec.Cmd
	lines chan string
	err   bytes.Buffer
}

// newHost starts a process and waits until it has opened the queue.
func newHost(t testing.TB, address, name string) *host {
	t.Helper()
	self := testkit.Must(os.Executable())(t)
	h := &host{t: t, name: name, cmd: exec.Command(self, address), lines: make(chan string, 100)}
	h.cmd.Env = append(os.Environ(), hostEnv+"="+name)
	h.cmd.Stderr = &h.err
	out := testkit.Must(h.cmd.StdoutPipe())(t)
	testkit.OK(t, h.cmd.Start())
	t.Cleanup(h.kill)
	go func() {
		defer close(h.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			h.lines <- s.Text()
		}
	}()
	h.says("ready")
	return h
}

// says waits for lines, in any order.
func (h *host) says(want ...string) {
	h.t.Helper()
	for left := strings.Join(want, "\n") + "\n"; left != ""; {
		line := runtest.WithinTime(h.t, h.lines)
		if !strings.Contains(left, line+"\n") {
			h.t.Fatalf("%s says %q, want %q; %s", h.name, line, left, h.err.String())
		}
		left = strings.Replace(left, line+"\n", "", 1)
	}
}

func (h *host) signal(s syscall.Signal) {
	h.t.Helper()
	testkit.OK(h.t, h.cmd.Process.Signal(s))
}

// kill ends the process as a power failure would.
func (h *host) kill() {
	h.cmd.Process.Kill()
	for range h.lines {
	}
	h.cmd.Wait()
}
