package dbosqueue_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"ramet/internal/database"
	"ramet/internal/pgtest"
	"ramet/internal/runner"
	"ramet/internal/runner/dbosqueue"
)

// The test binary is a host that never ends a job when this variable holds its name.
const hostEnv = "RAMET_QUEUE_HOST"

func TestMain(m *testing.M) {
	if host := os.Getenv(hostEnv); host != "" {
		os.Exit(neverEnding(os.Args[1], host))
	}
	os.Exit(pgtest.Main(m))
}

// neverEnding does jobs of the queue "work", names each, and never ends one.
func neverEnding(place, host string) int {
	ctx := context.Background()
	var q queue
	var err error
	if database.IsPostgres(place) {
		q, err = dbosqueue.OpenServer(ctx, place, host)
	} else {
		q, err = dbosqueue.OpenFile(ctx, place)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(q.Host())
	in := bufio.NewScanner(os.Stdin)
	go func() { // a job for each line
		for in.Scan() {
			if err := q.Enqueue(ctx, job(in.Text())); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}()
	err = q.Serve(ctx, []string{"work"}, 2, func(_ context.Context, j runner.Job) error {
		fmt.Println(j.ID)
		select {}
	})
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// queue is what both implementations are.
type queue interface {
	runner.Queue
	runner.Host
	Host() string
	Close() error
}

// world is a place for queues: a file or a schema.
type world struct {
	place string
	open  func(t *testing.T, host string) queue
}

// onBoth runs a test on both engines, and sees to it that no goroutine is left.
func onBoth(t *testing.T, test func(t *testing.T, w world)) {
	t.Run("file", func(t *testing.T) {
		leakless(t)
		path := filepath.Join(t.TempDir(), "queue.sqlite")
		test(t, world{path, func(t *testing.T, _ string) queue { return openFile(t, path) }})
	})
	t.Run("server", func(t *testing.T) {
		address := pgtest.URL(t)
		t.Cleanup(func() { drop(t, address) })
		leakless(t)
		test(t, world{address, func(t *testing.T, host string) queue { return openServer(t, address, host) }})
	})
}

func leakless(t *testing.T) {
	others := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, others) })
}

func openFile(tb testing.TB, path string) *dbosqueue.File {
	tb.Helper()
	q, err := dbosqueue.OpenFile(tb.Context(), path)
	return closing(tb, q, err)
}

func openServer(tb testing.TB, address, host string) *dbosqueue.Server {
	tb.Helper()
	q, err := dbosqueue.OpenServer(tb.Context(), address, host)
	return closing(tb, q, err)
}

func closing[Q queue](tb testing.TB, q Q, err error) Q {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
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
	pg, err := database.ParsePostgres(address)
	if err != nil {
		tb.Fatal(err)
	}
	return pg.Schema + "_queue"
}

func query(tb testing.TB, address, sql string, args ...any) [][]any {
	tb.Helper()
	pg, err := database.ParsePostgres(address)
	if err != nil {
		tb.Fatal(err)
	}
	pg.Config.RuntimeParams["application_name"] = "the test itself"
	pg.Config.RuntimeParams["client_min_messages"] = "warning"
	ctx := context.Background()
	conn, err := pgx.ConnectConfig(ctx, pg.Config)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func job(id string) runner.Job { return runner.Job{ID: id, RunID: "r", Queue: "work"} }

func enqueue(t *testing.T, q runner.Queue, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := q.Enqueue(t.Context(), job(id)); err != nil {
			t.Fatal(err)
		}
	}
}

// server is a Serve under way. What was handed out is told in its order.
type server struct {
	t      *testing.T
	handed chan runner.Job
	end    func() error // ends it, and tells its error

	mu    sync.Mutex
	times map[string]int
}

// serve hands each job to do, after telling it. It is ended with the test at the latest.
func serve(t *testing.T, q runner.Host, parallel int, do func(ctx context.Context, j runner.Job) error) *server {
	s := &server{t: t, handed: make(chan runner.Job, 10_000), times: map[string]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Serve(ctx, []string{"work"}, parallel, func(ctx context.Context, j runner.Job) error {
			s.mu.Lock()
			s.times[j.ID]++
			s.mu.Unlock()
			s.handed <- j
			if do == nil {
				return nil
			}
			return do(ctx, j)
		})
	}()
	s.end = sync.OnceValue(func() error {
		cancel()
		return within(t, ended)
	})
	t.Cleanup(func() {
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// expect waits for jobs to be handed out, in any order.
func (s *server) expect(ids ...string) {
	s.t.Helper()
	want := map[string]bool{}
	for _, id := range ids {
		want[id] = true
	}
	for len(want) > 0 {
		j := within(s.t, s.handed)
		if !want[j.ID] {
			s.t.Fatalf("%s was handed out, still expecting %v", j.ID, want)
		}
		if want := job(j.ID); j != want {
			s.t.Fatalf("handed out %v, want %v", j, want)
		}
		delete(want, j.ID)
	}
}

func (s *server) count(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times[id]
}

func within[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(60 * time.Second):
		t.Fatal("nothing happened within 60 s")
		panic("unreachable")
	}
}

// host is another process that never ends a job.
type host struct {
	name  string
	cmd   *exec.Cmd
	lines chan string
	err   bytes.Buffer
}

// newHost starts a process, has it enqueue jobs itself, and waits until it has been
// handed as many as it does at once.
func newHost(t *testing.T, place string, ids ...string) *host {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := &host{cmd: exec.Command(self, place), lines: make(chan string, 100)}
	h.cmd.Env = append(os.Environ(), hostEnv+"=doomed")
	h.cmd.Stdin = strings.NewReader(strings.Join(ids, "\n"))
	h.cmd.Stderr = &h.err
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.kill() })
	go func() {
		defer close(h.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			h.lines <- s.Text()
		}
	}()
	h.name = within(t, h.lines)
	return h
}

// kill ends the process as a power failure would.
func (h *host) kill() {
	h.cmd.Process.Kill()
	for range h.lines {
	}
	h.cmd.Wait()
}
