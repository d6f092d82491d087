package app_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"ramet/internal/base/text"
)

// refused runs ramet twice, without and with --json, and demands the exit
// code, nothing on standard output and, on standard error, exactly one line:
// the text, in which *** stands for anything, or the same as JSON. With -once
// it runs only the first.
func refused(ts *testscript.TestScript, _ bool, args []string) {
	once := args[0] == "-once"
	if once {
		args = args[1:]
	}
	want, line, command := args[0], args[1], args[2:]
	exits(ts, false, append([]string{want}, command...))
	got := silent(ts)
	if text.Safe(got) != got {
		ts.Fatalf("the error would drive a terminal: %q", got)
	}
	demand(ts, line, got)
	if once {
		return
	}
	exits(ts, false, append([]string{want, "--json"}, command...))
	var answer struct {
		Error struct {
			Code, Message string
			Hint          *string
		}
	}
	decoder := json.NewDecoder(strings.NewReader(silent(ts)))
	decoder.DisallowUnknownFields()
	ts.Check(decoder.Decode(&answer))
	got = "error[" + answer.Error.Code + "]: " + answer.Error.Message
	if answer.Error.Hint != nil {
		got += ": " + *answer.Error.Hint
	}
	demand(ts, line, got)
}

// silent gives standard error, if standard output is empty.
func silent(ts *testscript.TestScript) string {
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("a refused command printed %q", out)
	}
	line, ok := strings.CutSuffix(ts.ReadFile("stderr"), "\n")
	if !ok || strings.Contains(line, "\n") {
		ts.Fatalf("the error is not one line: %q", line)
	}
	return line
}

func demand(ts *testscript.TestScript, want, got string) {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), `\*\*\*`, `.+`)
	if !regexp.MustCompile(`^(?s:` + pattern + `)$`).MatchString(got) {
		ts.Fatalf("wrong error:\n have %s\n want %s", got, want)
	}
}

// exits runs ramet and demands an exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec("ramet", args[1:]...)
	code := 0
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code is %d, not %d", code, want)
	}
}
