package app_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

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
	e.Values[begunKey{}] = &begun{}
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
