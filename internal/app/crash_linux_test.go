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
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/probe"
)

// The real binary kills itself with SIGKILL before a step by which it changes a
// file, for every step, or lets it fail. Afterwards the workspace must be as it
// was before the command or as it is after it.

// verbs are command lines on a workspace that prepare made.
var verbs = map[string][]string{
	"append":  {"append", "ada", "a new message"},
	"blob":    {"append", "ada", strings.Repeat("a large message ", 4000)},
	"fork":    {"fork", "ada", "--name", "eve", "--prompt", "Go on."},
	"cascade": {"kill", "ada", "--cascade"},
	"send":    {"send", "bob", "--from", "ada", "a new letter"},
	"read":    {"read", "ada"},
	"clear":   {"clear", "ada"},
	"mark":    {"mark", "ada", "there"},
	"rewind":  {"rewind", "ada", "here"},
	"rename":  {"rename", "ada", "eve"},
	"redact":  {"redact", "ada", "5"},
	"first":   {"append", "0", "the first message"}, // of a workspace that is not there yet
}

// prepared returns the database of the workspace on which the verbs run, made once for all of them.
var prepared = sync.OnceValues(func() ([]byte, error) {
	exe, err := built()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "ramet-prepared-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	db := filepath.Join(dir, "ramet.db")
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
		cmd := exec.Command(exe, append([]string{"--db", db}, args...)...)
		cmd.Env = environment(db)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", cmd, err, out)
		}
	}
	return os.ReadFile(db)
})

func TestAKillAtAnyStepLeavesNothingHalfDone(t *testing.T) {
	exe := binary(t)
	for verb := range verbs {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, exe, verb)
			points := s.points(t)
			for _, p := range selected(points, 3) {
				var out outcome
				probe.KillAtStep(t, p, func(variable string) bool {
					out = s.run(t, variable)
					return out.killed
				})
				s.check(t, out.stdout, "killed at "+p.String())
			}
		})
	}
}

// ./test kills at some points of each label; a full `make soak` at all of them.
func TestAKillAtEveryPointSoak(t *testing.T) {
	if !testkit.SoakOn() {
		t.Skip("./test has killed at some points of each label")
	}
	for name, test := range map[string]func(*testing.T){
		"verbs": TestAKillAtAnyStepLeavesNothingHalfDone, "disk": TestADiskThatFailsIsNeverAcknowledged,
		"runs": TestAKilledRunGoesOn, "ledger": TestAKilledLedgerIsWhole, "undo": TestAKilledUndoIsWholeOrNothing,
		"rewind": TestAKilledRewindIsWholeOrNothing, "turn": TestATurnKilledAtAStepGoesOn,
	} {
		t.Run(name, test)
	}
}

// selected returns the points at which a command is killed: all of them in `make soak`, else a few of each label.
func selected(points []probe.Point, most int) []probe.Point {
	if testkit.SoakOn() {
		return points
	}
	return probe.SelectSteps(points, most)
}

// afterMade is what is said besides that a workspace was made.
func afterMade(stderr string) string {
	first, rest, _ := strings.Cut(stderr, "\n")
	if strings.HasPrefix(first, "made ") {
		return rest
	}
	return stderr
}

func TestADiskThatFailsIsNeverAcknowledged(t *testing.T) {
	exe := binary(t)
	for verb := range verbs {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, exe, verb)
			points := s.points(t)
			for _, c := range []struct{ op, errno, code string }{
				{"sync", "EIO", "STORAGE_IO"},
				{"write", "EIO", "STORAGE_IO"},
				{"write", "ENOSPC", "STORAGE_FULL"},
			} {
				for _, p := range selected(only(points, c.op), 3) {
					// From there on: a disk that fails does not come back.
					out := s.run(t, probe.FailStep(p.Label, p.N, c.errno))
					what := fmt.Sprintf("%s from the step %s on", c.errno, p)
					switch {
					case out.code == 0 && out.stdout != "":
					case out.code == 6 && out.stdout == "" && strings.HasPrefix(afterMade(out.stderr), "error["+c.code+"]: "):
					default:
						t.Fatalf("%s: exit code %d, printed %q and %q", what, out.code, out.stdout, out.stderr)
					}
					s.check(t, out.stdout, what)
				}
			}
		})
	}
}

// only returns the points of one operation, counted together.
func only(points []probe.Point, op string) []probe.Point {
	var out []probe.Point
	for _, p := range points {
		if p.Op() == op {
			out = append(out, probe.Point{Label: op, N: len(out) + 1})
		}
	}
	return out
}

// scene is one verb, with the states before and after it.
type scene struct {
	exe, verb, db string
	template      []byte // nil: the verb makes the workspace
	before, after string
}

func newScene(t *testing.T, exe, verb string) *scene {
	dir := t.TempDir()
	s := &scene{exe: exe, verb: verb, db: filepath.Join(dir, "ramet.db")}
	if verb != "first" { // whose state is made by looking at it
		var err error
		if s.template, err = prepared(); err != nil {
			t.Fatal(err)
		}
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
	if s.template == nil {
		return
	}
	if err := os.WriteFile(s.db, s.template, 0o600); err != nil {
		t.Fatal(err)
	}
}

type outcome struct {
	stdout, stderr string
	code           int
	killed         bool
}

// run runs the verb on a fresh copy, with a variable in its environment.
func (s *scene) run(t *testing.T, variable string) outcome {
	t.Helper()
	s.reset(t)
	cmd := exec.CommandContext(t.Context(), s.exe, append([]string{"--db", s.db}, verbs[s.verb]...)...)
	cmd.Env = append(environment(s.db), variable)
	return outcomeOf(t, cmd)
}

// outcomeOf runs a command to its end.
func outcomeOf(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), !cmd.ProcessState.Exited()}
}

// points records the steps of the verb.
func (s *scene) points(t *testing.T) []probe.Point {
	t.Helper()
	return probe.RecordSteps(t, 1, func(variable string) {
		if out := s.run(t, variable); out.code != 0 {
			t.Fatalf("exit code %d: %s", out.code, out.stderr)
		}
	})
}

// check looks at what is left: the workspace can be opened, all links hold, and the
// verb was carried out whole or not at all; whole, if it said so.
func (s *scene) check(t *testing.T, printed, what string) {
	t.Helper()
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
	for _, end := range []string{"", "-wal"} {
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
	if _, err := ws.Audit(ctx, nil); err != nil {
		t.Fatal(err)
	}
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
