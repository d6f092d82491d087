package session

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"ramet/internal/agent"
	"ramet/internal/history"
)

// The states that the history of an agent names stay as long as all others, also when the
// agent ended: its children inherit them, and people read it.
func TestStatesOfTheDeadAreNamed(t *testing.T) {
	w := open(t, nil)
	ada := child(t, w, "0", "ada")
	dir := t.TempDir()
	for i, text := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(dir, "a"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		draft, ok := w.FileStates(ada, dir).Take(t.Context()).Done(t.Context(), history.AfterCalls)
		if !ok {
			t.Fatalf("state %d tells nothing", i)
		}
		if _, err := w.Store.Append(t.Context(), ada.ID, agent.Passing(), draft); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Kill(t.Context(), Kill{Agent: found(t, w, "ada"), Reason: "done"}); err != nil {
		t.Fatal(err)
	}
	named, err := w.namedStates(t.Context())
	if err != nil || len(named) != 2 || named[0].Pinned || named[1].Pinned {
		t.Errorf("%+v, %v", named, err)
	}
}

// A cache goes as a whole, when nothing in it changed for long: half of what a program cached is
// worse than nothing.
func TestCachesGoWhole(t *testing.T) {
	w := open(t, nil)
	old := time.Now().Add(-time.Hour)
	answer := filepath.Join(w.Home, "cache", "llm", "ab.json")
	shut := filepath.Join(w.Home, "cache", "mcp", "srv", "mod")
	used := filepath.Join(w.Home, "cache", "mcp", "other")
	for _, dir := range []string{filepath.Dir(answer), shut, used} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{answer, filepath.Join(shut, "x"), filepath.Join(used, "x")} {
		if err := os.WriteFile(name, []byte("1234"), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{answer, filepath.Join(shut, "x"), shut, filepath.Dir(shut)} {
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(shut, 0o500); err != nil {
		t.Fatal(err)
	}
	since := old.Add(time.Minute)
	for _, plan := range []bool{true, false, false} {
		_, err := os.Stat(answer)
		there := err == nil
		got, err := w.SweepCaches(t.Context(), since, plan)
		if want := map[bool]int{true: 2}[there]; err != nil || got.Count != want || got.Bytes != int64(4*want) {
			t.Errorf("plan %t: %+v, %v", plan, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(used, "x")); err != nil {
		t.Error(err)
	}
}
