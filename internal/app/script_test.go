package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ramet/internal/base/text"
	"ramet/internal/core/trust"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// The scripts in testdata/script run on both stores. Those that are about one
// of them (a file that is cut, a server that does not answer) stand in
// testdata/sqlite or testdata/postgres.

func TestScriptsOnSQLite(t *testing.T) { runScripts(t, "sqlite", scripts(t, "script", "sqlite")) }

// The verbs are the same code on both stores, and storetest and runtest hold both to the same behavior. So only those
// scripts run on PostgreSQL in which several processes meet, or a process ends others; `make soak` runs all of them.
func TestScriptsOnPostgreSQL(t *testing.T) {
	common := slices.DeleteFunc(scripts(t, "script"), func(name string) bool {
		return !slices.Contains(onPostgreSQL, strings.TrimSuffix(filepath.Base(name), ".txtar"))
	})
	runScripts(t, "postgres", append(common, scripts(t, "postgres")...))
}

func TestAllScriptsOnPostgreSQLSoak(t *testing.T) {
	testkit.SoakOnly(t)
	runScripts(t, "postgres", scripts(t, "script", "postgres"))
}

// onPostgreSQL lists the common scripts that run on PostgreSQL too. Recipes, gates and built-in recipes of runs work on
// files and see no store; what one process asks of the store (gc, redact, verify, forks of logs) is in storetest and runtest.
var onPostgreSQL = []string{"exec-resume", "exec-stop", "fork", "kill", "run", "run-agents", "run-resume", "run-start"}

// scripts lists the scripts in folders of testdata.
func scripts(t *testing.T, folders ...string) (files []string) {
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no scripts in %s: %v", folder, err)
		}
		files = append(files, found...)
	}
	return files
}

func runScripts(t *testing.T, store string, files []string) {
	testscript.Run(t, testscript.Params{
		Files: files,
		Cmds:  commands,
		Setup: func(e *testscript.Env) error { return settle(e, store) },
		Condition: func(cond string) (bool, error) {
			return cond == store, nil
		},
		RequireUniqueNames: true,
	})
}

// settle gives each script an empty home and stands it in a project of its own.
func settle(e *testscript.Env, store string) error {
	home, project := filepath.Join(e.WorkDir, "home"), filepath.Join(e.WorkDir, "project")
	for _, dir := range []string{home, filepath.Join(project, ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	e.Cd = project
	e.Values[begunKey{}], e.Values[testKey{}] = &begun{}, e.T()
	e.Setenv("HOME", home)
	e.Setenv("DATA", filepath.Join(home, ".local", "share", "ramet"))
	e.Setenv("RAMET_TEST_ALONE", "1")   // no script depends on who answers on this machine
	e.Setenv("RAMET_TEST_PATIENT", "1") // nor on how busy it is
	// The real binary starts in half the time of the test binary, and without the race
	// detector. With -cover scripts run the test binary, which counts.
	if testing.CoverMode() == "" {
		exe, err := built()
		if err != nil {
			return err
		}
		e.Setenv("PATH", filepath.Dir(exe)+string(filepath.ListSeparator)+e.Getenv("PATH"))
	}
	e.Defer(func() { // the background kernel that a script started
		cmd := exec.Command("ramet", "server", "stop", "--force")
		cmd.Env = e.Vars
		cmd.Path, _ = exec.LookPath(filepath.Join(filepath.SplitList(e.Getenv("PATH"))[0], "ramet"))
		if _, err := os.Stat(filepath.Join(e.Getenv("DATA"), "server.log")); err != nil || cmd.Path == "" {
			return
		}
		if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(string(out), "NOT_FOUND") {
			e.T().Fatal("stop the background kernel: ", string(out))
		}
	})
	if store == "postgres" {
		e.Setenv("RAMET_DB", pgtest.URL(e.T().(testing.TB)))
	}
	return nil
}

// The commands of scripts beside those of testscript.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"refused":  refused,  // refused EXIT TEXT ARGS…
	"exits":    exits,    // exits EXIT ARGS…
	"json":     jsonIs,   // json PATH VALUE
	"jsonl":    jsonlIs,  // jsonl PATH VALUE
	"keys":     keys,     // keys PATH KEY…
	"save":     save,     // save NAME [PATH]
	"raw":      raw,      // raw NAME 'a\x00b'
	"file":     file,     // file PATH 'a\x00b'
	"long":     long,     // long NAME CHARACTER COUNT
	"patch":    patch,    // patch FILE OFFSET 'bytes'
	"cut":      cut,      // cut FILE SIZE
	"sql":      sqlDo,    // sql STATEMENT [FILE]
	"lock":     lock,     // lock [AGENT]: holds the database until the end
	"schema":   schema,   // schema: makes it, without ramet
	"server":   server,   // server URL: another user or database
	"plant":    plant,    // plant UUID NAME
	"begin":    begin,    // begin ARGS…
	"until":    until,    // until TEXT: what began has printed it
	"signal":   signalIt, // signal INT|TERM|KILL: to what began
	"ends":     ends,     // ends EXIT: what began has ended
	"never":    never,    // never TEXT
	"empty":    empty,    // empty DIR
	"consents": consents, // consents HOME RECIPE: a person has consented to it
	"attack":   attack,   // attack ROW WHAT [NAME…]: what was just checked to have no effect
}

type testKey struct{}

// attack records attacks whose effect the lines before have looked for.
func attack(ts *testscript.TestScript, _ bool, args []string) {
	names := []string{""}
	if len(args) > 2 {
		names = args[2:]
	}
	for _, name := range names {
		testkit.Attack(ts.Value(testKey{}).(testing.TB), args[0], strings.TrimSuffix(args[1]+": "+name, ": "))
	}
}

// consents records the consent of a person to a recipe that acts outside of runs.
func consents(ts *testscript.TestScript, _ bool, args []string) {
	if err := trust.AcceptRecipe(context.Background(), ts.MkAbs(args[0]), trust.RecipeDigest(ts.ReadFile(args[1]))); err != nil {
		ts.Fatalf("%v", err)
	}
}

// never demands that a text is in neither output of the last command.
func never(ts *testscript.TestScript, _ bool, args []string) {
	for _, out := range []string{"stdout", "stderr"} {
		if strings.Contains(ts.ReadFile(out), args[0]) {
			ts.Fatalf("%q is in %s", args[0], out)
		}
	}
}

// empty demands a folder that is not there or holds nothing.
func empty(ts *testscript.TestScript, _ bool, args []string) {
	entries, _ := os.ReadDir(ts.MkAbs(args[0]))
	for _, e := range entries {
		ts.Fatalf("%s holds %s", args[0], e.Name())
	}
}

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
