package app_test

import (
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// upgraded is what the binary of commit 7bae0bd left behind, made once: a workspace in a file
// and in a dump of PostgreSQL, with a checkpoint of each and the key that signed them; rules (a
// setting then), a run, a ledger. It must open for ever.
const upgraded = "testdata/upgrade/7bae0bd"

// old is a project with the fixture in its places, and a ramet that stands in it.
type old struct {
	t        *testing.T
	dir, exe string
	db       string
}

func newOld(t *testing.T) *old {
	t.Helper()
	exe := testkit.Must(built())(t)
	o := &old{t: t, dir: t.TempDir(), exe: exe}
	o.db = filepath.Join(o.dir, "ramet.db")
	for from, to := range map[string]string{
		"log.ed25519": "home/keys/log.ed25519", "ramet.db": "ramet.db", "config.toml": "config.toml", "checkpoint.txt": "checkpoint.txt", "checkpoint-postgres.txt": "checkpoint-postgres.txt",
		"agent-history.json": "project/.ramet/agent-history.json", "current-agent-id.txt": "project/.ramet/current-agent-id.txt",
		"run/checkpoints": "project/.ramet/runs/R-upgrade/checkpoints", "run/events.ndjson": "project/.ramet/runs/R-upgrade/events.ndjson",
		"run/log": "project/.ramet/runs/R-upgrade/log", "run/run_config.yaml": "project/.ramet/runs/R-upgrade/run_config.yaml",
		"run/snapshot.json": "project/.ramet/runs/R-upgrade/snapshot.json", "run/tree": "project/.ramet/runs/R-upgrade/tree",
	} {
		data := testkit.Must(os.ReadFile(filepath.Join(upgraded, from)))(t)
		path := filepath.Join(o.dir, to)
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testkit.OK(t, os.WriteFile(path, data, 0o600))
	}
	testkit.OK(t, os.Mkdir(filepath.Join(o.dir, "project", ".git"), 0o700))
	return o
}

// run carries out a command line and returns both outputs and the exit code.
func (o *old) run(args ...string) (string, int) {
	o.t.Helper()
	cmd := exec.CommandContext(o.t.Context(), o.exe, args...)
	cmd.Dir = filepath.Join(o.dir, "project")
	cmd.Env = []string{"HOME=" + o.dir, "RAMET_HOME=" + filepath.Join(o.dir, "home"), "PATH=" + os.Getenv("PATH"), "RAMET_DB=" + o.db,
		"RAMET_CONFIG=" + filepath.Join(o.dir, "config.toml"), "RAMET_TEST_ALONE=1"}
	out, _ := cmd.CombinedOutput() // the exit code is returned
	return string(out), cmd.ProcessState.ExitCode()
}

// says demands that a command goes well and prints each of the texts.
func (o *old) says(line string, texts ...string) {
	o.t.Helper()
	o.printed(strings.Fields(line), texts...)
}

func (o *old) printed(args []string, texts ...string) {
	o.t.Helper()
	out, code := o.run(args...)
	if code != 0 {
		o.t.Errorf("ramet %s ended with %d:\n%s", strings.Join(args, " "), code, out)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			o.t.Errorf("ramet %s does not say %q:\n%s", strings.Join(args, " "), text, out)
		}
	}
}

func TestAnOldWorkspaceOpensVerifiesAndGoesOn(t *testing.T) {
	t.Parallel()
	for store, open := range stores {
		t.Run(store, func(t *testing.T) {
			o := newOld(t)
			open(o)
			checkpoint := map[string]string{"sqlite": "checkpoint.txt", "postgres": "checkpoint-postgres.txt"}[store]
			met := []string{"verify", "--checkpoint", filepath.Join(o.dir, checkpoint)}
			o.printed(met, "ok: 4 agents, 21 entries, 1 blob, 2 mail messages", "1 entry redacted")
			o.says("ps --all", "ada", "bob", "carl", "killed")
			o.says("log ada", "the plan: one road, two towns", "ada looks at the north")
			o.says("log bob", "what is 2+2?")
			o.says("mail ada", "the bridge is down")
			o.says("doctor", "the engine finds nothing wrong")

			o.says("append ada further")
			o.says("fork ada --name dora")
			o.says("exec dora hello --model offline/offline --cwd " + filepath.Join(o.dir, "project")) // the old one is gone
			o.says("rewind ada north")
			o.says("send bob --from dora hello")
			o.says("log dora", "further", "hello")
			o.printed(met, "ok: 5 agents") // the old checkpoint still holds
		})
	}
}

func TestOldRulesRunsAndLedgersGoOn(t *testing.T) {
	t.Parallel()
	o := newOld(t)
	o.says("config get allow", "bash(go test *); write(docs/**)")
	o.says("run verify R-upgrade", "ok: 2 events")
	o.says("run append R-upgrade --type STATE_CHANGED")
	o.says("run show R-upgrade", "events     3")
	o.says("run verify R-upgrade", "ok: 3 events")
	o.says("track list", "the road", "completed", "the bridge", "interrupted")
	o.says("track resume bridge")
	o.says("track list", "resumed")
}

// A workspace of a ramet that is newer than this one is refused, and not touched.
func TestANewerWorkspaceIsRefused(t *testing.T) {
	t.Parallel()
	for store, open := range stores {
		t.Run(store, func(t *testing.T) {
			o := newOld(t)
			db := open(o)
			raise := map[string]string{"sqlite": `PRAGMA user_version = 1000`, "postgres": `UPDATE ramet_schema SET version = 1000`}[store]
			testkit.Must(db.Exec(raise))(t)
			for _, line := range []string{"ps", "append 0 hello", "verify", "exec 0 hello --model offline/offline", "backup copy.db"} {
				if out, code := o.run(strings.Fields(line)...); code != 6 || !strings.Contains(out, "error[STORAGE_NEWER]") {
					t.Errorf("ramet %s ended with %d:\n%s", line, code, out)
				}
			}
			var entries int
			if err := db.QueryRow(`SELECT count(*) FROM messages`).Scan(&entries); err != nil || entries != 21 {
				t.Errorf("%d entries, %v", entries, err)
			}
		})
	}
}

// stores put the fixture where a ramet finds it, and give a way to its tables.
var stores = map[string]func(*old) *sql.DB{
	"sqlite":   func(o *old) *sql.DB { return o.tables("sqlite", o.db) },
	"postgres": restored,
}

// restored loads the dump into a new schema.
func restored(o *old) *sql.DB {
	o.t.Helper()
	o.db = pgtest.URL(o.t)
	u := testkit.Must(url.Parse(o.db))(o.t)
	q := u.Query()
	schema := q.Get("schema")
	q.Del("schema")
	q.Set("default_query_exec_mode", "simple_protocol") // a dump is many statements
	u.RawQuery = q.Encode()
	dump := testkit.Must(os.ReadFile(upgraded + "/postgres.sql"))(o.t)
	loader := o.tables("pgx", u.String())
	testkit.Must(loader.Exec(strings.ReplaceAll(string(dump), "ramet_upgrade", schema)))(o.t)
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return o.tables("pgx", u.String())
}

func (o *old) tables(driver, address string) *sql.DB {
	o.t.Helper()
	db := testkit.Must(sql.Open(driver, address))(o.t)
	o.t.Cleanup(func() { db.Close() })
	return db
}
