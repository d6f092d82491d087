package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
)

// Who looks at a workspace of the first version learns where it is and leaves it as it was.
func TestALookChangesNothing(t *testing.T) {
	path := storetest.Format1(t)
	before := testkit.Must(os.ReadFile(path))(t)
	got, err := sqlite.Look(t.Context(), path)
	if want := (store.Outline{Folder: "/tmp/project", Agents: 3, Asked: "again"}); err != nil || got != want {
		t.Errorf("it is %+v, not %+v: %v", got, want, err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed: %v", err)
	}
	if beside, err := filepath.Glob(path + "?*"); err != nil || len(beside) > 0 {
		t.Errorf("beside it lies %v: %v", beside, err)
	}
}

// What was said a moment ago is seen while the workspace is open elsewhere.
func TestALookBesideAWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ramet.db")
	s := testkit.Must(sqlite.Open(t.Context(), path, sqlite.Options{Cwd: "/cart"}))(t)
	defer s.Close()
	zero := testkit.Must(s.Zero(t.Context()))(t)
	said := testkit.Must(history.Say(history.User, "Why are the tests flaky?"))(t)
	testkit.Must(s.Append(t.Context(), zero.ID, agent.Passing(), said))(t)
	got, err := sqlite.Look(t.Context(), path)
	if want := (store.Outline{Folder: "/cart", Agents: 1, Asked: "Why are the tests flaky?"}); err != nil || got != want {
		t.Errorf("it is %+v, not %+v: %v", got, want, err)
	}
	if _, err := sqlite.Look(t.Context(), filepath.Join(t.TempDir(), "none.db")); err == nil {
		t.Error("a file that is not there has an outline")
	}
}
