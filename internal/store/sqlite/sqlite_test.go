package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/store"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
)

func fresh(tb testing.TB) *storetest.Workspace {
	path := filepath.Join(tb.TempDir(), "a b%?.db") // a path that must be escaped
	openAt := func(path string) (*store.Store, error) {
		return Open(tb.Context(), path, Options{Cwd: "/where/it/began"})
	}
	return &storetest.Workspace{
		Open:     func() (*store.Store, error) { return openAt(path) },
		OpenFile: openAt,
		Raw: func(tb testing.TB) *sql.DB {
			db := openHandle(path, "_pragma=synchronous(OFF)&_pragma=ignore_check_constraints(1)", 1)
			tb.Cleanup(func() { db.Close() })
			return db
		},
		Loosen: []string{
			`DROP INDEX agents_living_name`, `DROP INDEX agents_zero`,
			`PRAGMA writable_schema = ON`,
			`UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'`,
			`PRAGMA schema_version = 1000`,
			`PRAGMA writable_schema = OFF`,
		},
		Files: []string{path, path + "-wal"},
	}
}

func TestConformance(t *testing.T) { storetest.Run(t, fresh) }

func TestConformanceSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestConformance(t)
}

func TestAFirstStartThatFailsLeavesNothingHalfMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.db")
	_, err := Open(t.Context(), path, Options{Cwd: "/folder\xff"})
	if !fault.Is(err, fault.InvalidText) {
		t.Fatalf("a folder that is not UTF-8: %v", err)
	}
	s := testkit.Must(Open(t.Context(), path, Options{Cwd: "/folder"}))(t)
	defer s.Close()
	if report, err := s.Audit(t.Context(), nil); err != nil || report.Agents != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestAWorkspaceOfFormat1(t *testing.T) {
	path := storetest.Format1(t)
	storetest.RunFormat1(t, &storetest.Workspace{Open: func() (*store.Store, error) { return Open(t.Context(), path, Options{}) }})
}
