package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ramet/internal/core/trust"
	"ramet/internal/testkit/pgtest"
)

// asleep is a recipe whose items sleep for 300 ms. They act outside the sandbox: what it
// costs to build one is not the question here.
func asleep(items int) string {
	scopes := make([]string, items)
	for i := range scopes {
		scopes[i] = fmt.Sprintf("i%d", i)
	}
	return `
name: asleep
description: items that sleep
states:
  DRAFTING: [rest]
workers:
  rest:
    each: [` + strings.Join(scopes, ", ") + `]
    command: sleep 0.3 && echo slept
    effect: external
    key: '{scope}'
    outputs: [{path: 'artifacts/{scope}.txt', answer: true}]
`
}

// Three hosts, one item at a time each, finish a run of sleeping items in a third of the
// time of one.
func BenchmarkRunOnThreeHosts(b *testing.B) {
	s := newShell(b)
	items := max(6, scaled(60)/3*3)
	check(b, os.WriteFile(filepath.Join(s.project, "asleep.yaml"), []byte(asleep(items)), 0o600))
	var ratios, more []float64
	n := 0
	for b.Loop() {
		n++
		db := pgtest.URL(b)
		b.Cleanup(func() { check(b, dropRuns(db)) })
		took := map[int]time.Duration{}
		for _, hosts := range []int{1, 3} {
			stop := s.hosts(b, db, hosts)
			took[hosts] = s.drafting(b, db, fmt.Sprintf("run-%d-%d", n, hosts))
			stop()
		}
		ratios = append(ratios, float64(took[1])/float64(took[3]))
		more = append(more, float64(took[1].Milliseconds())/float64(items)-300)
	}
	atLeast(b, "three hosts on PostgreSQL, a run of sleeping items: times as fast as one", "", middle(ratios), 2.7)
	shown(b, "what an item on another host takes besides its sleep", "ms", middle(more))
}

// hosts starts workers and waits until they are ready.
func (s *shell) hosts(b *testing.B, db string, n int) (stop func()) {
	b.Helper()
	var all []*exec.Cmd
	for i := range n {
		c := s.at(b, filepath.Join(s.home, fmt.Sprintf("host%d", i)), "worker", "--external", "--db", db, "--parallel", "1", "--host", fmt.Sprintf("host%d", i))
		ready := &until{word: []byte("waits for items"), heard: make(chan struct{})}
		c.Stderr = ready
		check(b, c.Start())
		all = append(all, c)
		<-ready.heard
	}
	return func() {
		for _, c := range all {
			c.Process.Signal(syscall.SIGTERM)
		}
		for _, c := range all {
			check(b, c.Wait())
		}
	}
}

// drafting carries out a run and gives the time from the beginning of its items to their
// end.
func (s *shell) drafting(b *testing.B, db, run string) time.Duration {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(s.project, "asleep.yaml"))
	check(b, err)
	c := s.at(b, s.home, "run", "start", "--db", db, "--recipe", "asleep.yaml", "--run-id", run, "--leave-work", "--accept", trust.RecipeDigest(string(text)))
	said := &stamps{at: map[string]time.Time{}}
	c.Stderr = said
	if err := c.Run(); err != nil {
		b.Fatalf("%s: %v\n%s", c, err, said.text.Bytes())
	}
	return said.at["state DRAFT_READY"].Sub(said.at["state DRAFTING"])
}

func (s *shell) at(b *testing.B, home string, args ...string) *exec.Cmd {
	b.Helper()
	check(b, os.MkdirAll(home, 0o700))
	c := exec.CommandContext(b.Context(), s.binary, args...)
	c.Dir = s.project
	c.Env = []string{"HOME=" + home, "RAMET_HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH")}
	return c
}

// until hears a word in what a process says.
type until struct {
	word  []byte
	heard chan struct{}
	once  sync.Once
	text  bytes.Buffer
}

func (u *until) Write(p []byte) (int, error) {
	u.text.Write(p)
	if bytes.Contains(u.text.Bytes(), u.word) {
		u.once.Do(func() { close(u.heard) })
	}
	return len(p), nil
}

// stamps notes when lines were said.
type stamps struct {
	text bytes.Buffer
	at   map[string]time.Time
}

func (s *stamps) Write(p []byte) (int, error) {
	s.text.Write(p)
	for line := range strings.Lines(string(p)) {
		s.at[strings.TrimSpace(line)] = time.Now()
	}
	return len(p), nil
}

// dropRuns removes what runs keep beside a workspace.
func dropRuns(db string) error {
	u, err := url.Parse(db)
	if err != nil {
		return err
	}
	query := u.Query()
	schema := query.Get("schema")
	query.Del("schema")
	u.RawQuery = query.Encode()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, fmt.Sprintf(`SET client_min_messages = warning; DROP SCHEMA IF EXISTS %s_river, %[1]s_runs CASCADE`, schema))
	return err
}
