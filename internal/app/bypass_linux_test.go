package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ramet/internal/testkit"
	"ramet/internal/testkit/probe"
)

// Tests kill ramet before its steps, so a change of a file that is no step is never tested. Here strace sees every
// call by which commands change files below their workspace, home and project: each follows the line by which the
// process recorded a step of that kind.
func TestNoWriteBypassesTheStepCounterSoak(t *testing.T) {
	testkit.SoakOnly(t)
	exe := binary(t)
	type line struct {
		template string
		args     []string
	}
	lines, agents := map[string]line{}, family(t)
	for verb, args := range verbs {
		lines[verb] = line{agents, append([]string{"--db", "ramet.db"}, args...)}
	}
	lines["first"] = line{"", lines["first"].args}
	for name, l := range lines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, l.template)
			noBypass(t, s.dir, s.command(l.args...))
		})
	}
	t.Run("rewind", func(t *testing.T) {
		t.Parallel()
		s := newRewound(t)
		noBypass(t, filepath.Dir(s.dir), s.command("rewind", "0", "here", "--files", "--commands"))
		noBypass(t, filepath.Dir(s.dir), s.command("undo", "0"))
	})
	t.Run("day", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, exe)
		s.db = filepath.Join(filepath.Dir(s.dir), "db", "ramet.db")
		for _, args := range [][]string{{"init", "-q"}, {"commit", "-q", "--allow-empty", "-m", "begin"}} {
			testkit.Git(t, s.dir, args...)

		}
		file := s.script(t, `{"steps": [{"call": "write", "args": {"path": "d/new", "content": "text"}}]}`, `{"steps": [{"text": "done"}]}`)
		for _, args := range [][]string{
			{"exec", "--json", "--allow", "bash", "--model", toolLoop(t, s, "", "true"), "go"},
			{"exec", "--json", "--allow", "write", "--model", file, "go"},
			{"undo", "0"}, {"mark", "0", "here"}, {"mode", "0", "plan"}, {"effort", "0", "high"},
			{"fork", "--name", "ada", "--worktree"}, {"export", "0", "-o", "out.md"}, {"backup", "copy.db"}, {"checkpoint"},
			{"merge", "ada"}, {"kill", "ada"}, {"worktree", "rm", "ada"}, {"gc"}, {"verify"},
			{"track", "spawn", "--type", "t", "--plan", "1", "--group", "g", "--id", "c"}, {"track", "interrupt", "c"}, {"track", "resume", "c", "--id", "d"}, {"track", "complete", "d"},
			{"run", "init", "--run-id", "r"}, {"run", "append", "r", "--type", "RUN_STATE_CHANGED", "--payload", `{"old_state":"CREATED","new_state":"CLONED_INPUTS"}`},
			{"run", "append", "r", "--type", "GATE_RUN_STARTED", "--payload", `{"gate":"links"}`}, {"run", "replay", "r"}, {"run", "fork", "r", "--at", "2", "--run-id", "new"},
		} {
			noBypass(t, filepath.Dir(s.dir), s.command(args...))
		}
	})
}

// changes are the system calls that change files, by the operation whose step they belong to.
var changes = map[string]string{
	"fsync": "sync", "fdatasync": "sync", "rename": "rename", "renameat": "rename", "renameat2": "rename",
	"link": "link", "linkat": "link", "unlink": "remove", "unlinkat": "remove", "rmdir": "remove",
	"mkdir": "mkdir", "mkdirat": "mkdir", "ftruncate": "truncate", "truncate": "truncate", "symlinkat": "symlink",
	"fchmod": "chmod", "fchmodat": "chmod", "fchmodat2": "chmod", "pwrite64": "write", "write": "write",
}

var (
	traceLine = regexp.MustCompile(`^(\d+) +(?:<\.\.\. )?(\w+)(?:\(| resumed>)(.*)$`)
	stepLine  = regexp.MustCompile(`, "([\w./-]+):\d+\\n"`)
	childOf   = regexp.MustCompile(`\) += (\d+)$`)
)

// noBypass runs a command under strace, and fails the test for each change of a file below a folder that was no step.
func noBypass(t *testing.T, folder string, cmd *exec.Cmd) {
	t.Helper()
	dir := t.TempDir()
	steps, trace := filepath.Join(dir, "steps"), filepath.Join(dir, "trace")
	calls := "clone,?clone3,?fork,?vfork" // not every system has all of them
	for call := range changes {
		calls += ",?" + call
	}
	under := exec.Command("strace", append([]string{"-f", "-y", "-qq", "-s", "200", "-o", trace, "-e", "trace=" + calls}, cmd.Args...)...)
	under.Dir, under.Env = cmd.Dir, append(cmd.Env, probe.Steps+"="+steps)
	if out := outcomeOf(under); out.code != 0 {
		t.Errorf("%v: exit code %d: %s%s", cmd.Args[1:], out.code, out.stdout, out.stderr)
	}
	text := testkit.Must(os.ReadFile(trace))(t)
	w := &witness{folder: folder, steps: steps, told: map[string]string{}, others: map[string]bool{}, clones: map[string]string{}}
	for line := range strings.Lines(string(text)) {
		if m := traceLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			w.see(m[1], m[2], m[3], strings.Contains(line, " resumed>"))
		}
	}
	if w.seen == 0 {
		t.Errorf("%v changes nothing", cmd.Args[1:])
	}
	for _, call := range w.bypassed {
		t.Errorf("%.80s: no step: %s", fmt.Sprint(cmd.Args[3:]), call)
	}
}

// witness holds the calls of a process against its steps.
type witness struct {
	folder, steps string
	told          map[string]string // the operation that each thread has recorded, and not carried out
	clones        map[string]string // the call by which each thread makes another one, or a process
	others        map[string]bool   // processes that are not ramet, with their threads
	seen          int
	bypassed      []string
}

// see takes a call of a thread.
func (w *witness) see(thread, call, rest string, resumed bool) {
	switch call {
	case "clone", "clone3", "fork", "vfork":
		w.clone(thread, rest, resumed)
		return
	}
	if resumed || w.others[thread] {
		return
	}
	if strings.Contains(rest, "<"+w.steps+">") {
		if m := stepLine.FindStringSubmatch(rest); m != nil {
			w.told[thread] = probe.Point{Label: m[1]}.Op()
		}
		return
	}
	op := changes[call]
	switch fd, _, _ := strings.Cut(rest, ","); {
	case strings.Contains(rest, " = -1 "): // it changed nothing
		return
	case op == "write" && !strings.Contains(fd, "<"+w.folder): // a pipe, or a file elsewhere
		return
	case !strings.Contains(rest, w.folder), strings.Contains(rest, "-shm"): // SQLite makes its shared memory anew after a crash
		return
	}
	w.seen++
	by := w.recorded(thread, op)
	if by == "" {
		w.bypassed = append(w.bypassed, fmt.Sprintf("%s(%s", call, strings.ReplaceAll(rest, w.folder, "…")))
		return
	}
	if op != "write" { // which may be done in pieces
		delete(w.told, by)
	}
}

// recorded returns the thread that recorded a step of that kind: this one, or one that its goroutine has left.
func (w *witness) recorded(thread, op string) string {
	if w.told[thread] == op {
		return thread
	}
	for other, told := range w.told {
		if told == op {
			return other
		}
	}
	return ""
}

// clone notes the children that are processes of their own.
func (w *witness) clone(thread, rest string, resumed bool) {
	if !resumed {
		w.clones[thread] = rest
	}
	if m := childOf.FindStringSubmatch(rest); m != nil {
		w.others[m[1]] = w.others[thread] || !strings.Contains(w.clones[thread], "CLONE_THREAD")
	}
}
