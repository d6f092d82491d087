package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"ramet/internal/testkit"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		startAndWait()
		return
	}
	os.Exit(Main(m))
}

// childEnv makes this test binary a process to be killed.
const childEnv = "RAMET_PGTEST_CHILD"

// startAndWait is that process: it says where its server lives, or why not,
// and waits for an end of input that never comes.
func startAndWait() {
	s, err := Start(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.dir)
	io.Copy(io.Discard, os.Stdin)
}

// execute runs one statement as a client of its own and returns its first
// column, if it has one.
func execute(t *testing.T, url, sql string) string {
	t.Helper()
	conn := testkit.Must(connect(t.Context(), url))(t)
	defer conn.Close(context.Background())
	rows := testkit.Must(conn.Query(t.Context(), sql))(t)
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(values, ",")
}

// schemaOf finds the schema in a URL the way ramet does.
func schemaOf(t *testing.T, url string) string {
	t.Helper()
	_, schema, ok := strings.Cut(url, "schema=")
	if !ok {
		t.Fatalf("no schema in %s", url)
	}
	schema, _, _ = strings.Cut(schema, "&")
	return schema
}

func TestEachURLNamesASchemaOfItsOwn(t *testing.T) {
	first, second := URL(t), URL(t)
	a, b := schemaOf(t, first), schemaOf(t, second)
	if a == b {
		t.Fatalf("two URLs with the schema %s", a)
	}
	for _, s := range []struct{ url, schema, word string }{{first, a, "one"}, {second, b, "two"}} {
		execute(t, s.url, "CREATE SCHEMA "+s.schema)
		execute(t, s.url, "CREATE TABLE "+s.schema+".note AS SELECT '"+s.word+"'::text AS word")
	}
	if got := execute(t, first, "SELECT word FROM "+a+".note"); got != "one" {
		t.Errorf("the first schema holds %q", got)
	}
	if got := execute(t, first, "SELECT word FROM "+b+".note"); got != "two" {
		t.Errorf("the second schema holds %q", got)
	}
}

func TestTheSchemaGoesWithTheTest(t *testing.T) {
	var url string
	t.Run("inner", func(t *testing.T) {
		url = URL(t)
		execute(t, url, "CREATE SCHEMA "+schemaOf(t, url))
		execute(t, url, "CREATE TABLE "+schemaOf(t, url)+".note (word text)")
	})
	left := execute(t, url, "SELECT nspname::text FROM pg_namespace WHERE nspname = '"+schemaOf(t, url)+"'")
	if left != "" {
		t.Errorf("schema %s outlived its test", left)
	}
}

func TestTheGivenServerIsUsed(t *testing.T) {
	t.Setenv(Env, "postgres://someone@example.org/db?sslmode=disable")
	server := testkit.Must(serverURL())(t)
	full, schema, err := withSchema(server)
	if want := "postgres://someone@example.org/db?schema=" + schema + "&sslmode=disable"; err != nil || full != want {
		t.Errorf("got %s, %v; want %s", full, err, want)
	}
	if _, _, err := withSchema("mysql://someone@example.org/db"); err == nil {
		t.Error("a URL of something else is accepted")
	}
}

func TestTheHighestVersionIsFound(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{
		"9.6/bin/initdb", "9.6/bin/postgres",
		"15/bin/initdb", "15/bin/postgres",
		"17/bin/initdb", // only the client side is there
		"other/bin/initdb", "other/bin/postgres",
	} {
		path := filepath.Join(root, file)
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testkit.OK(t, os.WriteFile(path, nil, 0o755))
	}
	bin, err := find(root + "/*/bin")
	if want := filepath.Join(root, "15/bin"); err != nil || bin != want {
		t.Errorf("found %s, %v; want %s", bin, err, want)
	}

	t.Setenv("PATH", filepath.Join(root, "9.6/bin"))
	bin, err = find(root + "/none/*/bin")
	if want, _ := filepath.EvalSymlinks(filepath.Join(root, "9.6/bin")); err != nil || bin != want {
		t.Errorf("found %s, %v on the PATH; want %s", bin, err, want)
	}
}

func TestAMachineWithoutPostgreSQLIsToldWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := find(t.TempDir() + "/*/bin")
	if !errors.Is(err, errNotInstalled) {
		t.Fatalf("got %v", err)
	}
	for _, word := range []string{"apt-get install postgresql", Env} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}
