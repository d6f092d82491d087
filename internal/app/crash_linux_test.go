package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/app"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/probe"
)

// The real binary kills itself with SIGKILL before a step by which it changes a
// file, for every step, or lets it fail. Afterwards everything must be as it
// was before the command or as it is after it.

// scene is a project in which commands are killed: a copy of a template, which is a home too.
type scene struct {
	t        *testing.T
	exe      string
	template string
	dir      string
}

// newScene makes a copy of a template, or of an empty project.
func newScene(t *testing.T, template string) *scene {
	t.Helper()
	s := &scene{t, binary(t), template, filepath.Join(t.TempDir(), "project")}
	s.reset()
	return s
}

// reset puts the project back.
func (s *scene) reset() {
	s.t.Helper()
	err := os.RemoveAll(s.dir)
	if err == nil && s.template == "" {
		err = os.MkdirAll(filepath.Join(s.dir, ".git"), 0o700)
	} else if err == nil {
		err = exec.Command("cp", "-a", s.template, s.dir).Run()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), s.exe, args...)
	cmd.Dir, cmd.Env = s.dir, s.env()
	return cmd
}

func (s *scene) env() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir} }

// looks reports whether a command only reads, so that tests need no process for it.
func looks(args []string) bool {
	words := strings.Join(args[:min(len(args), 2)], " ") + " "
	return slices.ContainsFunc([]string{"log ", "ps ", "show ", "verify ", "server status ", "run events ", "run list ", "run replay ", "run show ", "run verify "},
		func(verb string) bool { return strings.HasPrefix(words, verb) })
}

// runInside runs a command in this process.
func runInside(dir string, env []string, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	code := app.RunIn(context.Background(), dir, args, func(name string) string { return strings.TrimPrefix(setting(env, name+"="), name+"=") },
		app.Stdio{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return outcome{stdout: stdout.String(), stderr: stderr.String(), code: code}
}

// must runs a command that must succeed.
func (s *scene) must(args ...string) string {
	s.t.Helper()
	out := runInside(s.dir, s.env(), args...)
	if out.code != 0 {
		s.t.Fatalf("ramet %s: exit code %d\n%s%s", strings.Join(args, " "), out.code, out.stdout, out.stderr)
	}
	return out.stdout
}

// run runs a command on a fresh copy, with a variable in its environment.
func (s *scene) run(variable string, args ...string) outcome {
	s.t.Helper()
	s.reset()
	cmd := s.command(args...)
	cmd.Env = append(cmd.Env, variable)
	return outcomeOf(cmd)
}

// points records the steps of a command.
func (s *scene) points(args ...string) []probe.Point {
	s.t.Helper()
	return probe.RecordSteps(s.t, 1, func(variable string) {
		if out := s.run(variable, args...); out.code != 0 {
			s.t.Fatalf("exit code %d: %s", out.code, out.stderr)
		}
	})
}

// kill kills a command before its steps, each time on a fresh copy, and has checked what is left.
func (s *scene) kill(most int, args []string, check func(printed, what string)) {
	s.t.Helper()
	for _, p := range selected(s.points(args...), most) {
		var out outcome
		probe.KillAtStep(s.t, p, func(variable string) bool {
			out = s.run(variable, args...)
			return out.killed
		})
		check(out.stdout, "killed at "+p.String())
	}
}

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

// family makes a project whose workspace has the agents of the verbs.
func family(t *testing.T) string {
	t.Helper()
	s := newScene(t, "")
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
		s.must(append([]string{"--db", "ramet.db"}, args...)...)
	}
	return s.dir
}

// act is one verb of agents, with the states before and after it.
type act struct {
	*scene
	verb, db      string
	args          []string
	before, after string
}

func newAct(t *testing.T, template, verb string) *act {
	t.Helper()
	if verb == "first" {
		template = ""
	}
	a := &act{scene: newScene(t, template), verb: verb, args: append([]string{"--db", "ramet.db"}, verbs[verb]...)}
	a.db = filepath.Join(a.dir, "ramet.db")
	a.before = state(t, a.db)
	if a.run("NOTHING=", a.args...); a.before == state(t, a.db) {
		t.Fatal("the command changes nothing")
	}
	a.after = state(t, a.db)
	return a
}

func TestAKillAtAnyStepLeavesNothingHalfDone(t *testing.T) {
	template := family(t)
	for verb := range verbs {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			a := newAct(t, template, verb)
			a.kill(2, a.args, a.check)
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
	template := family(t)
	for verb := range verbs {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			a := newAct(t, template, verb)
			points := a.points(a.args...)
			for _, c := range []struct{ op, errno, code string }{
				{"sync", "EIO", "STORAGE_IO"},
				{"write", "EIO", "STORAGE_IO"},
				{"write", "ENOSPC", "STORAGE_FULL"},
			} {
				for _, p := range selected(only(points, c.op), 2) {
					// From there on: a disk that fails does not come back.
					out := a.run(probe.FailStep(p.Label, p.N, c.errno), a.args...)
					what := fmt.Sprintf("%s from the step %s on", c.errno, p)
					switch {
					case out.code == 0 && out.stdout != "":
					case out.code == 6 && out.stdout == "" && strings.HasPrefix(afterMade(out.stderr), "error["+c.code+"]: "):
					default:
						t.Fatalf("%s: exit code %d, printed %q and %q", what, out.code, out.stdout, out.stderr)
					}
					a.check(out.stdout, what)
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

// outcome is how a command ended; its code is -1 if it was killed or could not be started.
type outcome struct {
	stdout, stderr string
	code           int
	killed         bool
}

// outcomeOf runs a command to its end. It writes to files: a process that a killed command has left keeps no pipe open.
func outcomeOf(cmd *exec.Cmd) outcome {
	var texts [2]string
	files := make([]*os.File, 2)
	for i := range files {
		f, err := os.CreateTemp("", "ramet-output-")
		if err != nil {
			return outcome{stderr: err.Error(), code: -1}
		}
		defer f.Close()
		os.Remove(f.Name())
		files[i] = f
	}
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	if err := cmd.Run(); cmd.ProcessState == nil {
		return outcome{stderr: err.Error(), code: -1}
	}
	for i, f := range files {
		text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
		if err != nil {
			return outcome{stderr: err.Error(), code: -1}
		}
		texts[i] = string(text)
	}
	return outcome{texts[0], texts[1], cmd.ProcessState.ExitCode(), !cmd.ProcessState.Exited()}
}

// check looks at what is left: the workspace can be opened, all links hold, and the
// verb was carried out whole or not at all; whole, if it said so.
func (a *act) check(printed, what string) {
	a.t.Helper()
	got := state(a.t, a.db)
	if got != a.after && (got != a.before || printed != "") {
		a.t.Fatalf("%s, having printed %q, it left\n%s\nbefore\n%s\nafter\n%s", what, printed, got, a.before, a.after)
	}
	if a.verb != "redact" {
		return
	}
	if printed == "" {
		a.must(a.args...) // again: it must finish what was begun
	}
	for _, end := range []string{"", "-wal"} {
		if data, _ := os.ReadFile(a.db + end); bytes.Contains(data, []byte("opensesame")) {
			a.t.Fatalf("%s, the secret is still in ramet.db%s", what, end)
		}
	}
}

// state is all that a user can see, without what is drawn or measured.
func state(t *testing.T, db string) string {
	t.Helper()
	ctx := context.Background()
	ws := testkit.Must(sqlite.Open(ctx, db, sqlite.Options{}))(t)
	defer ws.Close()
	testkit.Must(ws.Audit(ctx, nil))(t)
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
			parts := testkit.Must(json.Marshal(e.Content))(t)
			fmt.Fprintf(&b, "  %d %s %s\n", e.ID, e.Kind, parts)
		}
		letters := testkit.Must(ws.Letters(ctx, a.ID, mail.Filter{Deleted: true}))(t)
		for _, l := range letters {
			fmt.Fprintf(&b, "  letter %d %q %t\n", l.Number, l.Body, l.Unread())
		}
	}
	return b.String()
}

// environment is an empty home beside the database.
func environment(db string) []string {
	return []string{"HOME=" + filepath.Join(filepath.Dir(db), "home"), "PATH=" + os.Getenv("PATH")}
}
