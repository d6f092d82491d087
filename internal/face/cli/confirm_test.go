package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/files"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
)

// recorder is a client that keeps the inputs of its calls.
type recorder[In any] struct {
	calls  []In
	answer func(In) any
}

func (r *recorder[In]) Call(_ context.Context, _ operation.Operation, in any) (any, error) {
	one := *in.(*In)
	r.calls = append(r.calls, one)
	return r.answer(one), nil
}

func terminalLine(terminal bool, answer string) (*Line, *bytes.Buffer) {
	var out, said bytes.Buffer
	l := testLine(&said, time.Now)
	l.Stdin, l.Stdout = strings.NewReader(answer), &out
	if terminal {
		l.Password = func(string) (string, error) { return "", nil }
	}
	return l, &said
}

// A person at a terminal is asked about files that changed while a command was running, unless an
// option decides.
func TestFilesThatChangedDuringACommandAreAskedAbout(t *testing.T) {
	type options = operation.RestoreOptions
	yes, no := true, false
	for _, c := range []struct {
		name     string
		given    options
		terminal bool
		answer   string
		want     []string // of the calls
	}{
		{"yes", options{}, true, "y\n", []string{"dry", "commands"}},
		{"no", options{}, true, "n\n", []string{"dry", "keep"}},
		{"no answer", options{}, true, "", []string{"dry", "keep"}},
		{"no terminal", options{}, false, "y\n", []string{"undecided"}},
		{"dry run", options{DryRun: true}, true, "", []string{"dry"}},
		{"commands", options{Commands: &yes}, true, "", []string{"commands"}},
		{"no commands", options{Commands: &no}, true, "", []string{"keep"}},
		{"force", options{Force: true}, true, "", []string{"force"}},
	} {
		r := &recorder[operation.UndoInput]{answer: func(operation.UndoInput) any {
			return public.Restore{Kept: []public.Kept{{Path: "notes.txt", Why: files.Running}}}
		}}
		l, said := terminalLine(c.terminal, c.answer)
		if err := l.carryOut(t.Context(), r, &operation.Undo, &operation.UndoInput{RestoreOptions: c.given}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var calls []string
		for _, in := range r.calls {
			calls = append(calls, describeOptions(in.RestoreOptions))
		}
		if !slices.Equal(calls, c.want) {
			t.Errorf("%s: %q, want %q", c.name, calls, c.want)
		}
		if asked := strings.Contains(said.String(), "notes.txt"); asked != (len(calls) == 2) {
			t.Errorf("%s: said %q", c.name, said.String())
		}
	}
}

func describeOptions(o operation.RestoreOptions) string {
	switch {
	case o.DryRun:
		return "dry"
	case o.Force:
		return "force"
	case o.Commands == nil:
		return "undecided"
	case *o.Commands:
		return "commands"
	}
	return "keep"
}

// The trash is emptied after a yes only. There is no question where it holds nothing.
func TestEmptyingTheTrashIsConfirmed(t *testing.T) {
	for _, c := range []struct {
		answer string
		items  int
		calls  int
		code   fault.Code
	}{{"y\n", 1, 2, ""}, {"n\n", 1, 1, fault.Cancelled}, {"", 1, 1, fault.Cancelled}, {"n\n", 0, 2, ""}} {
		r := &recorder[operation.EmptyTrashInput]{answer: func(in operation.EmptyTrashInput) any {
			return public.TrashEmptied{Plan: in.DryRun, Items: make([]public.TrashItem, c.items)}
		}}
		l, said := terminalLine(true, c.answer)
		err := l.carryOut(t.Context(), r, &operation.EmptyTrash, &operation.EmptyTrashInput{})
		if len(r.calls) != c.calls || !r.calls[0].DryRun || c.calls == 2 && r.calls[1].DryRun || (err == nil) != (c.code == "") || err != nil && !fault.Is(err, c.code) {
			t.Errorf("%q, %d items: %+v, %v", c.answer, c.items, r.calls, err)
		}
		if asked := strings.Contains(said.String(), "for good? [y/N]"); asked != (c.items > 0) {
			t.Errorf("%q, %d items: said %q", c.answer, c.items, said.String())
		}
		if c.calls == 2 && r.calls[1].Yes != (c.items > 0) {
			t.Errorf("confirmed: %+v", r.calls[1])
		}
	}
}

// Words that people try do what they mean, or one line says which command does.
func TestGuessedWords(t *testing.T) {
	for word, want := range map[string]string{
		"ls": "Show the tree of agents", "list": "Show the tree of agents", "agents": "Show the tree of agents",
		"logs": "Show the context", "history": "Show the context", "cost": "Aliases:", "search": "Find messages", "interrupt": "Stop the turn", "--version": "ramet 9.9", "-v": "ramet 9.9",
		"status": "ramet ps", "stop": "ramet interrupt AGENT", "attach": "`ramet` alone", "open": "`ramet` alone", "ui": "`ramet` alone",
		"login": "ramet auth set", "delete": "ramet kill AGENT", "rm": "ramet run rm", "new": "ramet fork --name", "init": "ramet fork --name",
		"sessions": "ramet resume", "update": "ramet models update", "approve": "in the terminal", "answer": "in the terminal",
		"questions": "in the terminal", "model": "ramet config set model",
	} {
		var out, errs bytes.Buffer
		e := Env{Streams: Streams{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}}
		e.System.Getenv = func(string) string { return "" }
		e.System.Now = time.Now
		e.Care.Version = func() Version { return Version{Version: "9.9"} }
		args := []string{word}
		if guesses[word] == "" && word[0] != '-' {
			args = append(args, "--help")
		}
		code := Run(context.Background(), args, e)
		printed := out.String()
		if guesses[word] != "" {
			if printed = errs.String(); code != 2 || strings.Count(printed, "\n") != 1 {
				t.Errorf("%s exits with %d and prints %s", word, code, printed)
			}
		} else if code != 0 {
			t.Errorf("%s exits with %d: %s", word, code, errs.String())
		}
		if !strings.Contains(printed, want) {
			t.Errorf("%s prints %q, not %q", word, printed, want)
		}
	}
}
