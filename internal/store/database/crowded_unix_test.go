//go:build unix

package database

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// A limit of open files is no matter of owners and modes.
func TestTooManyOpenFilesAreSaidToBeThat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := OpenSQLite(path, "mode=rwc", 1)
	defer db.Close()
	pg := testkit.Must(ParsePostgres("postgres://ada@127.0.0.1:1/data?sslmode=disable"))(t)
	var old unix.Rlimit
	testkit.OK(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	few := old
	few.Cur = 3
	testkit.OK(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	file := SQLiteFault(path, db.PingContext(t.Context()))
	_, server := pgx.ConnectConfig(t.Context(), pg.Config)
	testkit.OK(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
	for _, err := range []error{file, PostgresFault(pg.Place, server)} {
		if !fault.Is(err, fault.StorageIO) || !strings.Contains(err.Error(), "too many") || !strings.Contains(err.Error(), "ulimit -n") {
			t.Errorf("%v", err)
		}
	}
}

// A kernel may have a file open that another program removed: its next connection makes an empty one.
func TestAFileThatWasRemovedWhileItWasOpenIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ramet.db")
	db := OpenSQLite(path, "", 1)
	defer db.Close()
	_, err := db.ExecContext(t.Context(), `SELECT uuid FROM agents`)
	if err = SQLiteFault(path, err); !fault.Is(err, fault.StorageIO) || !strings.Contains(err.Error(), path+": the file was removed or exchanged while it was open") {
		t.Errorf("%v", err)
	}
}
