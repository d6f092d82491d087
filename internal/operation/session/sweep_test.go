package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/files"
	"ramet/internal/operation/control"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
)

// The states that the history of an agent names stay as long as all others, also when the
// agent ended: its children inherit them, and people read it.
func TestStatesOfTheDeadAreNamed(t *testing.T) {
	w := open(t, nil)
	ada := child(t, w, "0", "ada")
	dir := t.TempDir()
	for i, text := range []string{"one", "two"} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, "a"), []byte(text), 0o600))
		draft, ok := w.Files().FileStates(ada, dir).Take(t.Context()).Done(t.Context(), history.AfterCalls)
		if !ok {
			t.Fatalf("state %d tells nothing", i)
		}
		testkit.Must(w.Store.Append(t.Context(), ada.ID, agent.Passing(), draft))(t)
	}
	testkit.Must(w.Agents().Kill(t.Context(), Kill{Agent: found(t, w, "ada"), Reason: "done"}))(t)
	named, err := w.Care().namedStates(t.Context())
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
		testkit.OK(t, os.MkdirAll(dir, 0o700))
	}
	for _, name := range []string{answer, filepath.Join(shut, "x"), filepath.Join(used, "x")} {
		testkit.OK(t, os.WriteFile(name, []byte("1234"), 0o400))
	}
	for _, name := range []string{answer, filepath.Join(shut, "x"), shut, filepath.Dir(shut)} {
		testkit.OK(t, os.Chtimes(name, old, old))
	}
	testkit.OK(t, os.Chmod(shut, 0o500))
	since := old.Add(time.Minute)
	for _, plan := range []bool{true, false, false} {
		_, err := os.Stat(answer)
		there := err == nil
		got, err := w.Care().SweepCaches(t.Context(), since, plan)
		if want := map[bool]int{true: 2}[there]; err != nil || got.Count != want || got.Bytes != int64(4*want) {
			t.Errorf("plan %t: %+v, %v", plan, got, err)
		}
	}
	testkit.Must(os.Stat(filepath.Join(used, "x")))(t)
}

// What a message shows in part lies in a file; whoever redacts the message has that file removed
// too, and no other: not one that only a model quotes, nor one elsewhere.
func TestARedactionReachesTheOutputsOfTools(t *testing.T) {
	w := open(t, nil)
	ctx, zero := t.Context(), found(t, w, "0")
	testkit.OK(t, os.MkdirAll(w.Care().Outputs(), 0o700))
	named, job, quoted := filepath.Join(w.Care().Outputs(), "bash-1.txt"), filepath.Join(w.Care().Outputs(), "job-2.txt"), filepath.Join(w.Care().Outputs(), "bash-3.txt")
	elsewhere := filepath.Join(t.TempDir(), "mine.txt")
	for _, name := range []string{named, job, quoted, elsewhere} {
		testkit.OK(t, os.WriteFile(name, []byte("opensesame"), 0o600))
	}
	memo := testkit.Must(json.Marshal(map[string]string{"file": job}))(t)
	long := strings.Repeat("opensesame ", 2000) // kept as a blob
	for _, d := range []struct {
		kind history.Kind
		part history.Part
	}{
		{history.ToolResult, history.Part{Type: history.Result, CallID: "a", Text: long + "\nall of it is in " + named + " and in " + elsewhere}},
		{history.ToolResult, history.Part{Type: history.Result, CallID: "b", Text: "it runs", Memo: memo}},
		{history.Assistant, history.Part{Type: history.Text, Text: "see " + quoted}},
	} {
		made := testkit.Must(w.Store.Append(ctx, zero.ID, agent.Passing(), history.Draft{Kind: d.kind, Parts: []history.Part{d.part}}))(t)
		testkit.OK(t, w.History().Redact(ctx, zero, made[0].ID))
	}
	for name, stays := range map[string]bool{named: false, job: false, quoted: true, elsewhere: true} {
		if _, err := os.Stat(name); (err == nil) != stays {
			t.Errorf("%s: %v, stays %t", name, err, stays)
		}
	}
}

// What histories name cannot be listed: then nothing is dropped, whatever its age.
func TestNothingIsDroppedIfTheNamedStatesCannotBeListed(t *testing.T) {
	home := t.TempDir()
	db := filepath.Join(home, "ramet.db")
	s := testkit.Must(sqlite.Open(t.Context(), db, sqlite.Options{Cwd: home}))(t)
	w := &Workspace{Store: store.Clean(s, nil), Peers: control.At(home, db), Config: &config.Config{}, Now: time.Now}
	w.Home, w.Place.DB, w.Place.Project = home, db, home
	ada, dir := child(t, w, "0", "ada"), t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "a"), []byte("one"), 0o600))
	if _, ok := w.Files().FileStates(ada, dir).Take(t.Context()).Done(t.Context(), history.AfterCalls); !ok {
		t.Fatal("no state was taken")
	}
	before := w.Files().Past().Disk()
	if before == 0 {
		t.Fatal("nothing is kept")
	}
	testkit.OK(t, s.Close())
	out, err := w.Care().GCFiles(t.Context(), Sweep{Since: time.Now().Add(time.Hour)})
	if err == nil || out.Swept != (files.Swept{}) {
		t.Errorf("dropped %+v, %v", out, err)
	}
	if after := w.Files().Past().Disk(); after != before {
		t.Errorf("%d bytes of %d are left", after, before)
	}
}
