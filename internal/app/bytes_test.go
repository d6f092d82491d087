package app_test

import (
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// raw sets a variable to bytes that cannot stand in a script.
func raw(ts *testscript.TestScript, _ bool, args []string) { ts.Setenv(args[0], unquote(ts, args[1])) }

// file writes such bytes to a file.
func file(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(unquote(ts, args[1])), 0o600))
}

// long sets a variable to one character many times.
func long(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Setenv(args[0], strings.Repeat(args[1], n))
}

// patch overwrites bytes of a file in place.
func patch(ts *testscript.TestScript, _ bool, args []string) {
	offset, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteAt([]byte(unquote(ts, args[2])), offset)
	ts.Check(err)
	ts.Check(f.Close())
}

// cut shortens a file.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}

func unquote(ts *testscript.TestScript, s string) string {
	out, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
	ts.Check(err)
	return out
}
