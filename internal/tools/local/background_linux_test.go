package local

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

const worker = id.Agent("AAAAAAAAAAAAAAAAAAAAAA")

// yard is the tools of an agent with a table for its commands.
func yard(t *testing.T, jobs *Jobs, who id.Agent) *Local {
	t.Helper()
	root := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	l := testkit.Must(New(Options{Root: root, Env: []string{"PATH=" + os.Getenv("PATH")}, Jobs: jobs, For: who, Outputs: filepath.Join(t.TempDir(), "out")}))(t)
	return l
}

func call(t *testing.T, l *Local, name string, args map[string]any) tool.Answer {
	t.Helper()
	raw := testkit.Must(json.Marshal(args))(t)
	for _, one := range l.Tools() {
		if one.Spec().Name == name {
			a := testkit.Must(one.Run(t.Context(), tool.Call{Agent: l.o.For, Name: name, Args: raw, Grant: tool.Free, Output: func([]byte) {}}))(t)
			return a
		}
	}
	t.Fatal("there is no tool " + name)
	return tool.Answer{}
}

// holder is a command line that, with everything that it starts, holds a pipe open, and a
// function that returns when nobody does any more.
func holder(t *testing.T, l *Local) (command string, gone func()) {
	t.Helper()
	fifo := filepath.Join(l.o.Root, "held")
	testkit.OK(t, syscall.Mkfifo(fifo, 0o600))
	opened := make(chan *os.File, 1)
	go func() {
		f, err := os.Open(fifo) // until the command has it, too
		if err == nil {
			opened <- f
		}
	}()
	return `exec 3>held; trap "" TERM HUP INT; (setsid sleep 1000 &) ; sleep 1000`, func() {
		f := <-opened
		defer f.Close()
		if _, err := io.ReadAll(f); err != nil { // the end comes with the last writer
			t.Error(err)
		}
	}
}

func TestACommandGoesOnInTheBackground(t *testing.T) {
	jobs := NewJobs(nil)
	defer jobs.Close()
	l := yard(t, jobs, worker)
	a := call(t, l, "bash", map[string]any{"command": "echo ready; read x < door; echo bye $x; exit 3", "background": true})
	if a.IsError || !strings.Contains(a.Text, "Command 1 runs in the background") || !strings.Contains(a.Memo, `"number":1`) {
		// It fails at once: there is no door.
		if !strings.Contains(a.Text, "exit code") {
			t.Fatal(a)
		}
	}
	testkit.OK(t, syscall.Mkfifo(filepath.Join(l.o.Root, "door"), 0o600))
	a = call(t, l, "bash", map[string]any{"command": "echo ready; read x < door; echo bye $x; exit 3", "background": true})
	if a.IsError || !strings.Contains(a.Text, "Command 2 runs in the background") {
		t.Fatal(a)
	}
	if a = call(t, l, "job", map[string]any{"id": 2, "wait": 60, "until": "ready"}); a.Text != "ready\n[runs]" {
		t.Fatalf("%q", a.Text)
	}
	if a = call(t, l, "job", map[string]any{"id": 2}); a.Text != "[nothing new]\n[runs]" {
		t.Fatalf("%q", a.Text)
	}
	if got := jobs.Running(worker); len(got) != 1 || !strings.HasPrefix(got[0], "2 echo ready;") {
		t.Fatal(got)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(l.o.Root, "door"), []byte("Ada\n"), 0))
	if a = call(t, l, "job", map[string]any{"id": 2, "wait": 60}); a.Text != "bye Ada\n[exit code 3]" || !a.IsError {
		t.Fatalf("%q", a.Text)
	}
	if got := jobs.Running(worker); got != nil || len(jobs.Agents()) != 0 {
		t.Fatal(got)
	}
}

func TestWhatIsStoppedIsGone(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Jobs, *Local){
		"stop": func(t *testing.T, _ *Jobs, l *Local) {
			if a := call(t, l, "job", map[string]any{"id": 1, "stop": true}); !strings.Contains(a.Text, "[stopped, with all that it started]") || a.IsError {
				t.Error(a.Text)
			}
		},
		"the agent ends":  func(_ *testing.T, j *Jobs, _ *Local) { j.End(worker) },
		"the kernel ends": func(_ *testing.T, j *Jobs, _ *Local) { j.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			jobs := NewJobs(nil)
			defer jobs.Close()
			l := yard(t, jobs, worker)
			command, gone := holder(t, l)
			if a := call(t, l, "bash", map[string]any{"command": command, "background": true}); a.IsError {
				t.Fatal(a)
			}
			end(t, jobs, l)
			gone()
		})
	}
}

func TestAfterTheEndNothingBegins(t *testing.T) {
	jobs := NewJobs(nil)
	l := yard(t, jobs, worker)
	jobs.Close()
	if a := call(t, l, "bash", map[string]any{"command": "sleep 1000", "background": true}); !a.IsError {
		t.Fatal(a)
	}
}

func TestCommandsInTheBackgroundAreLimited(t *testing.T) {
	jobs := NewJobs(nil)
	defer jobs.Close()
	l := yard(t, jobs, worker)
	for range mostJobs {
		if a := call(t, l, "bash", map[string]any{"command": "sleep 1000", "background": true}); a.IsError {
			t.Fatal(a)
		}
	}
	if a := call(t, l, "bash", map[string]any{"command": "sleep 1000", "background": true}); !a.IsError || !strings.Contains(a.Text, "no more may") {
		t.Fatal(a)
	}
	call(t, l, "job", map[string]any{"id": 2, "stop": true})
	if a := call(t, l, "bash", map[string]any{"command": "sleep 1000", "background": true}); a.IsError || !strings.Contains(a.Text, fmt.Sprintf("Command %d ", mostJobs+1)) {
		t.Fatal(a)
	}
}

func TestATimeoutHoldsInTheBackground(t *testing.T) {
	jobs := NewJobs(nil)
	defer jobs.Close()
	l := yard(t, jobs, worker)
	call(t, l, "bash", map[string]any{"command": "echo a; sleep 1000", "background": true, "timeout": 1})
	if a := call(t, l, "job", map[string]any{"id": 1, "wait": 60}); !strings.Contains(a.Text, "[timed out after 1s") {
		t.Fatal(a)
	}
}

// Another process, and a fork, know of the command what the history tells.
func TestWhatOthersKnowOfACommand(t *testing.T) {
	jobs := NewJobs(nil)
	defer jobs.Close()
	l := yard(t, jobs, worker)
	a := call(t, l, "bash", map[string]any{"command": "echo some output; sleep 1000", "background": true})
	call(t, l, "job", map[string]any{"id": 1, "wait": 60, "until": "some output"})
	memos := func() iter.Seq[json.RawMessage] { return slices.Values([]json.RawMessage{json.RawMessage(a.Memo)}) }
	later := NewJobs(nil)
	defer later.Close()
	again := yard(t, later, worker)
	child := yard(t, later, id.Agent("BBBBBBBBBBBBBBBBBBBBBA"))
	for _, one := range []*Local{again, child} {
		one.o.Outputs = l.o.Outputs
		one.bash().(tool.Memory).Recall(memos())
	}
	told := call(t, again, "job", map[string]any{"id": 1})
	if !told.IsError || !strings.Contains(told.Text, "does not run any more") {
		t.Fatal(told)
	}
	_, file, _ := strings.Cut(told.Text, "is in ")
	if shown := call(t, again, "read", map[string]any{"path": strings.TrimSuffix(file, ".")}); !strings.Contains(shown.Text, "some output") {
		t.Error(shown)
	}
	if told = call(t, child, "job", map[string]any{"id": 1, "stop": true}); !strings.Contains(told.Text, "belongs to the agent that you were forked from") {
		t.Error(told)
	}
	if jobs.Running(worker) == nil {
		t.Error("a fork has stopped it")
	}
	if next := call(t, again, "bash", map[string]any{"command": "sleep 1000", "background": true}); !strings.Contains(next.Text, "Command 2 ") {
		t.Error(next)
	}
}

func TestAWaitEndsWithItsTurn(t *testing.T) {
	jobs := NewJobs(nil)
	defer jobs.Close()
	l := yard(t, jobs, worker)
	call(t, l, "bash", map[string]any{"command": "sleep 1000", "background": true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.job().Run(ctx, tool.Call{Args: json.RawMessage(`{"id":1,"wait":600}`)}); err == nil {
		t.Error("it waited")
	}
}
