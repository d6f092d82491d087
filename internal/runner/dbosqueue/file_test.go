package dbosqueue_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/fault"
	"ramet/internal/runner/dbosqueue"
)

func checkRefused(t *testing.T) {
	q, err := dbosqueue.OpenFile(t.Context(), filepath.Join(t.TempDir(), "queue.sqlite"))
	if !fault.Is(err, fault.InvalidConfig) {
		t.Error(err)
	}
	if err == nil {
		q.Close()
	}
}

func TestTheFileMayBeDeletedOrDamaged(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, path string){
		"kept": func(*testing.T, string) {},
		"deleted": func(t *testing.T, path string) {
			for _, end := range []string{"", "-wal", "-shm"} {
				remove(t, path+end)
			}
		},
		"deleted without its log":  func(t *testing.T, path string) { remove(t, path) },
		"deleted without its body": func(t *testing.T, path string) { remove(t, path+"-wal") },
		"cut":                      func(t *testing.T, path string) { truncate(t, path, 10_000) },
		"emptied":                  func(t *testing.T, path string) { truncate(t, path, 0) },
		"overwritten with something": func(t *testing.T, path string) {
			write(t, path, "not a database, by far, and longer than its header would be: "+path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			leakless(t)
			path := filepath.Join(t.TempDir(), "queue.sqlite")
			q := openFile(t, path)
			s := serve(t, q, 1, nil)
			enqueue(t, q, "r:a", "r:b")
			s.expect("r:a", "r:b")
			if err := q.Close(); err != nil {
				t.Fatal(err)
			}
			harm(t, path)

			q = openFile(t, path)
			s = serve(t, q, 1, nil)
			enqueue(t, q, "r:a", "r:c")
			if name == "kept" {
				s.expect("r:c") // a is remembered
				return
			}
			for s.count("r:c") == 0 { // a may be handed out again
				within(t, s.handed)
			}
		})
	}
}

func TestTheFileMayBeDeletedWhileItIsUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.sqlite")
	q := openFile(t, path)
	s := serve(t, q, 1, nil)
	enqueue(t, q, "r:a")
	s.expect("r:a")
	remove(t, path)
	enqueue(t, q, "r:b")
	s.expect("r:b")
}

func TestTheDatabaseOfSomebodyElseIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.sqlite")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE theirs (x)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if q, err := dbosqueue.OpenFile(t.Context(), path); !fault.Is(err, fault.StorageForeign) {
		t.Error(err)
		if err == nil {
			q.Close()
		}
	}
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "queue.sqlite")
	if _, err := dbosqueue.OpenFile(t.Context(), path); !fault.Is(err, fault.StorageReadOnly) {
		t.Error(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
