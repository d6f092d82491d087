package store

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"ramet/internal/base/fault"
	"ramet/internal/store/database"
	"ramet/internal/telemetry"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

func TestFilesThatAreNotOurs(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenFile(t.Context(), dir); !fault.Is(err, fault.StorageForeign) {
		t.Error(err)
	}
	text := filepath.Join(dir, "text")
	testkit.OK(t, os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o644))
	theirs := filepath.Join(dir, "theirs")
	execute(t, theirs, `CREATE TABLE theirs (n INT)`)
	for _, path := range []string{text, theirs} {
		before, _ := os.ReadFile(path)
		if _, err := OpenFile(t.Context(), path); !fault.Is(err, fault.StorageForeign) {
			t.Errorf("%s: %v", path, err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, before) {
			t.Errorf("%s was changed", path)
		}
	}
}

func execute(t *testing.T, path, text string) {
	t.Helper()
	db := database.OpenSQLite(path, "", 1)
	defer db.Close()
	testkit.Must(db.Exec(text))(t)
}

func TestNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "t.db")
	var wg sync.WaitGroup
	for range 4 { // all at once: the tables are made once
		wg.Go(func() {
			s, err := OpenFile(context.Background(), path)
			if err != nil {
				t.Error(err)
				return
			}
			s.Close()
		})
	}
	wg.Wait()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	execute(t, path, `PRAGMA user_version = 99`)
	if _, err := OpenFile(t.Context(), path); !fault.Is(err, fault.StorageNewer) {
		t.Error(err)
	}
}

func TestSchemas(t *testing.T) {
	address := pgtest.URL(t)
	dropAfter(t, address)
	pg := testkit.Must(parseAddress(address))(t)
	db := stdlib.OpenDB(*pg.Config)
	defer db.Close()
	schema := pgx.Identifier{pg.Schema}.Sanitize()
	do := func(text string) {
		t.Helper()
		testkit.Must(db.Exec(text))(t)
	}
	do(`CREATE SCHEMA ` + schema + `; CREATE TABLE ` + schema + `.theirs (n INT)`)
	if _, err := OpenServer(t.Context(), address); !fault.Is(err, fault.StorageForeign) {
		t.Error(err)
	}
	do(`DROP TABLE ` + schema + `.theirs`)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := OpenServer(context.Background(), address)
			if err != nil {
				t.Error(err)
				return
			}
			s.Close()
		})
	}
	wg.Wait()
	if !strings.HasSuffix(pg.Schema, "_telemetry") {
		t.Error(pg.Schema)
	}
	do(`UPDATE ` + schema + `.telemetry_schema SET version = 99`)
	if _, err := OpenServer(t.Context(), address); !fault.Is(err, fault.StorageNewer) {
		t.Error(err)
	}
	for wrong, code := range map[string]fault.Code{
		"postgres://nobody:secret@127.0.0.1:1/none?sslmode=disable&connect_timeout=1": fault.StorageUnreachable,
		"postgres://%zz": fault.InvalidConfig,
		"postgres://h/d?schema=" + strings.Repeat("x", 60): fault.InvalidConfig,
	} {
		if _, err := OpenServer(t.Context(), wrong); !fault.Is(err, code) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// A server that ended all sessions is used again when it is back.
func TestLostConnection(t *testing.T) {
	p := serverPlace(t)
	s, other := p.open(t), p.open(t)
	create(t, s, plain(t, 1, ""))
	var own int
	conn, err := other.readers.Conn(t.Context())
	testkit.OK(t, err)
	defer conn.Close()
	testkit.OK(t, s.writer.QueryRow(`SELECT pg_backend_pid()`).Scan(&own))
	for n := 1; n > 0; {
		testkit.OK(t, conn.QueryRowContext(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid = $1`, own).Scan(&n))
	}
	// The first one may meet the dead connection; nothing fails for ever.
	_, err = s.Create(t.Context(), []telemetry.New{plain(t, 2, ""), plain(t, 3, "")})
	if err != nil && !fault.Is(err, fault.StorageUnreachable) {
		t.Error(err)
	}
	for _, r := range create(t, s, plain(t, 2, ""), plain(t, 3, "")) {
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
	testkit.Must(s.Patch(t.Context(), eventID(1), parsePatch(t, `{"host": "h"}`)))(t)
}
