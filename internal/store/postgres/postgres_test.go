package postgres

import (
	"context"
	"database/sql"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"

	"ramet/internal/store"
	"ramet/internal/store/database"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
	"ramet/internal/testkit/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func fresh(tb testing.TB) *storetest.Workspace {
	address := pgtest.URL(tb)
	return &storetest.Workspace{
		Open: func() (*store.Store, error) {
			return Open(context.Background(), address, Options{Cwd: "/where/it/began", Export: sqlite.Export})
		},
		OpenFile: func(path string) (*store.Store, error) {
			return sqlite.Open(context.Background(), path, sqlite.Options{})
		},
		Raw: func(tb testing.TB) *sql.DB {
			pg := testkit.Must(database.ParsePostgres(address))(tb)
			pg.Config.RuntimeParams["synchronous_commit"] = "off"
			db := stdlib.OpenDB(*pg.Config)
			tb.Cleanup(func() { db.Close() })
			return db
		},
		Loosen: []string{loosen},
	}
}

// loosen takes away everything that keeps an owner of the tables from writing
// nonsense into them.
const loosen = `DO $$
DECLARE r record;
BEGIN
	FOR r IN SELECT c.conname, c.conrelid::regclass AS tab FROM pg_constraint c
		WHERE c.connamespace = current_schema()::regnamespace ORDER BY c.contype LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I CASCADE', r.tab, r.conname);
	END LOOP;
	FOR r IN SELECT table_name, column_name FROM information_schema.columns
		WHERE table_schema = current_schema() AND is_nullable = 'NO' LOOP
		EXECUTE format('ALTER TABLE %I ALTER COLUMN %I DROP NOT NULL', r.table_name, r.column_name);
	END LOOP;
	DROP INDEX agents_living_name;
	DROP INDEX agents_zero;
END $$`

func TestConformance(t *testing.T) { storetest.Run(t, fresh) }

func TestConformanceSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestConformance(t)
}
