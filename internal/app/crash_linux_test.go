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
	"testing"

	"ramet/internal/agent"
	"ramet/internal/history"
	"ramet/internal/mail"
	"ramet/internal/store/sqlite"
)

// The real binary runs under strace, which kills it with SIGKILL as it enters
// the n-th call of one kind, for every n, or lets that call fail. Afterwards
// the workspace must be as it was before the command or as it is after it.

// verbs are command lines on a workspace that prepare made.
var verbs = map[string][]string{
	"append":  {"append", "ada", "a new message"},
	"blob":    {"append", "ada", strings.Repeat("a large message ", 4000)},
	"fork":    {"fork", "ada", "--name", "eve", "--prompt", "Go on."},
	"cascade": {"kill", "ada", "--cascade"},
	"send":    {"send", "bob", "--from", "ada", "a new letter"},
	"read":    {"read", "ada"},
	"clear":   {"clear", "ada"},
	"rewind":  {"rewind", "ada", "here"},
	"rename":  {"rename", "ada", "eve"},
	"redact":  {"redact", "ada", "5"},
	"first":   {"append", "0", "the first message"}, // of a workspace that is not there yet
}

// prepare makes the workspace on which the verbs run.
func prepare(t *testing.T, exe, db string) {
	for _, args := range [][]string{
		{"append", "0", "hello"},
		{"fork", "--name", "ada"},
		{"append", "ada", "the secret word is opensesame"},
		{"mark", "ada", "here"},
		{"append", "ada", "later"},
		{"fork", "ada", "--name", "bob"},
		{"fork", "bob"},
		{"send", "ada", "--from", "bob", "a waiting letter"},
	} {
		command(t, exe, db, args...)
	}
}

// calls are those by which ramet changes files.
var calls = []string{"pwrite64", "fsync", "ftruncate", "unlink", "write", "linkat", "mkdirat", "rename"}

func TestAKillAtAnyWriteLeavesNothingHalfDoneSoak(t *testing.T) {
	exe := build(t)
	for verb := range verbs {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, exe, verb)
			kills := 0
			for _, call := range calls {
				// strace counts for each thread, so a late call may survive; that
				// does not end the search.
				for n, last := 1, s.count(t, call); n <= last; n += stride(call) {
					out := s.strace(t, os.DevNull, call, fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n))
					s.check(t, out.stdout, fmt.Sprintf("killed at %s %d", call, n))
					if out.killed {
						kills++
					}
				}
			}
			if kills == 0 {
				t.Fatal("nothing was killed")
			}
			t.Logf("%d kills", kills)
		})
	}
}

// stride leaves some out, but never the rare calls, where it is not asked for
// all of them.
func stride(call string) int {
	if os.Getenv("RAMET_SOAK") == "" && call == "pwrite64" {
		return 7
	}
	return 1
}

// afterMade is what is said besides that a workspace was made.
func afterMade(stderr string) string {
	first, rest, _ := strings.Cut(stderr, "\n")
	if strings.HasPrefix(first, "made ") {
		return rest
	}
	return stderr
}

func TestADiskThatFailsIsNeverAcknowledgedSoak(t *testing.T) {
	exe := build(t)
	for name, c := range map[string]struct{ call, errno, code string }{
		"sync":  {"fsync", "EIO", "STORAGE_IO"},
		"write": {"pwrite64", "EIO", "STORAGE_IO"},
		"full":  {"pwrite64", "ENOSPC", "STORAGE_FULL"},
	} {
		for verb := range verbs {
			t.Run(name+"/"+verb, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, exe, verb)
				for n := 1; ; n += stride(c.call) {
					// From the n-th on: a disk that fails does not come back.
					out := s.strace(t, os.DevNull, c.call, fmt.Sprintf("inject=%s:error=%s:when=%d+", c.call, c.errno, n))
					what := fmt.Sprintf("%s at %s %d", c.errno, c.call, n)
					switch {
					case out.code == 0 && out.stdout != "":
					case out.code == 6 && out.stdout == "" && strings.HasPrefix(afterMade(out.stderr), "error["+c.code+"]: "):
					case out.code == 6 && out.stdout == "" && strings.Contains(out.stderr, shmSize):
					default:
						t.Fatalf("%s: exit code %d, printed %q and %q", what, out.code, out.stdout, out.stderr)
					}
					s.check(t, out.stdout, what)
					if out.code == 0 {
						break
					}
				}
			})
		}
	}
}

// shmSize is how SQLite tells that its shared memory could not be made. It
// does not tell why; ramet looks at the disk, and this one is not really full.
const shmSize = "disk I/O error (4874)"

// scene is one verb, with the states before and after it.
type scene struct {
	exe, verb, template, db string
	before, after           string
}

func newScene(t *testing.T, exe, verb string) *scene {
	dir := t.TempDir()
	s := &scene{exe: exe, verb: verb, template: filepath.Join(dir, "template.db"), db: filepath.Join(dir, "ramet.db")}
	if verb == "first" {
		s.template = "" // looking at its state makes it
	} else {
		prepare(t, exe, s.template)
		s.reset(t)
	}
	s.before = state(t, s.db)
	if verb != "first" {
		s.reset(t)
	}
	command(t, exe, s.db, verbs[verb]...)
	if s.after = state(t, s.db); s.after == s.before {
		t.Fatal("the command changes nothing")
	}
	return s
}

// reset puts the workspace back.
func (s *scene) reset(t *testing.T) {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		os.Remove(s.db + end)
	}
	if s.template == "" {
		return
	}
	data, err := os.ReadFile(s.template)
	if err == nil {
		err = os.WriteFile(s.db, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

type outcome struct {
	stdout, stderr string
	code           int
	killed         bool
}

// strace runs the verb on a fresh copy, tampering with one kind of call, and
// writes what it sees of them to a file.
func (s *scene) strace(t *testing.T, file, call string, tamper ...string) outcome {
	t.Helper()
	s.reset(t)
	args := []string{"-f", "-qq", "-o", file, "-e", "trace=" + call}
	for _, expression := range tamper {
		args = append(args, "-e", expression)
	}
	args = append(append(args, s.exe, "--db", s.db), verbs[s.verb]...)
	cmd := exec.CommandContext(t.Context(), "strace", args...)
	cmd.Env = append(environment(s.db), "GOMAXPROCS=1") // most calls on one thread
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), !cmd.ProcessState.Exited()}
}

// count is how many calls of a kind the verb makes.
func (s *scene) count(t *testing.T, call string) int {
	t.Helper()
	file := s.db + ".trace"
	if out := s.strace(t, file, call); out.code != 0 {
		t.Fatalf("strace ended with %d: %s", out.code, out.stderr)
	}
	trace, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(trace, []byte(call+"("))
}

// check looks at what is left: the next command works, all links hold, and the
// verb was carried out whole or not at all; whole, if it said so.
func (s *scene) check(t *testing.T, printed, what string) {
	t.Helper()
	command(t, s.exe, s.db, "verify")
	got := state(t, s.db)
	if got != s.after && (got != s.before || printed != "") {
		t.Fatalf("%s, having printed %q, it left\n%s\nbefore\n%s\nafter\n%s", what, printed, got, s.before, s.after)
	}
	if s.verb != "redact" {
		return
	}
	if printed == "" {
		command(t, s.exe, s.db, verbs[s.verb]...) // again: it must finish what was begun
	}
	for _, end := range []string{"", "-wal", "-spare"} {
		if data, _ := os.ReadFile(s.db + end); bytes.Contains(data, []byte("opensesame")) {
			t.Fatalf("%s, the secret is still in ramet.db%s", what, end)
		}
	}
}

// state is all that a user can see, without what is drawn or measured.
func state(t *testing.T, db string) string {
	t.Helper()
	ctx := context.Background()
	ws, err := sqlite.Open(ctx, db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	agents, err := ws.Agents(ctx, agent.Filter{Dead: true})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i, a := range agents {
		fmt.Fprintf(&b, "%d %q %s %q own %d total %d unread %d\n", i, a.Name, a.Status, a.EndReason, a.Own, a.Total, a.Unread)
		for e, err := range ws.QueryRange(ctx, history.Range{Agent: a.ID}, history.Selection{}) {
			if err != nil {
				t.Fatal(err)
			}
			parts, err := json.Marshal(e.Content)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "  %d %s %s\n", e.ID, e.Kind, parts)
		}
		letters, err := ws.Letters(ctx, a.ID, mail.Filter{Deleted: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range letters {
			fmt.Fprintf(&b, "  letter %d %q %t\n", l.Number, l.Body, l.Unread())
		}
	}
	return b.String()
}

// build gives the path of the real binary.
func build(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "ramet")
	if err := buildTo(exe); err != nil {
		t.Fatal(err)
	}
	return exe
}

// command runs ramet, which must succeed.
func command(t *testing.T, exe, db string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), exe, append([]string{"--db", db}, args...)...)
	cmd.Env = environment(db)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("ramet %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// environment is an empty home beside the database.
func environment(db string) []string {
	return []string{"HOME=" + filepath.Join(filepath.Dir(db), "home"), "PATH=" + os.Getenv("PATH")}
}
