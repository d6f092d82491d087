package httpapi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/operation/public"
	"ramet/internal/testkit"
)

// project gives agent 0 a folder with two states: the second is that of its turn, which
// changed a file and added another.
func (f *floor) project(t testing.TB) {
	t.Helper()
	ws := f.Workspace
	dir := t.TempDir()
	put := func(name, text string) {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	take := func(when history.When) {
		states := ws.Files().FileStates(f.zero, dir)
		draft, ok := states.Take(t.Context()).Done(t.Context(), when)
		if !ok {
			t.Fatal("nothing changed")
		}
		testkit.Must(f.store.Append(t.Context(), f.zero.ID, agent.Passing(), draft))(t)
	}
	put("kept.txt", "as it was\n")
	put("main.go", "package main\n")
	take(history.BeforeCalls)
	end := ws.Files().FileStates(f.zero, dir).Begin()
	put("main.go", "package main\n\nfunc main() {}\n")
	put("odd\xff", "a name that is not UTF-8\n")
	end()
	take(history.AfterCalls)
	t.Cleanup(ws.Files().EndFileStates)
}

func init() {
	const zero = "/api/v1/agents/0"
	samples["GET /api/v1/agents/{ref}/files"] = func(*testing.T, *site) []sample {
		return []sample{{zero + "/files", nil, 200}, {zero + "/files?at=x", nil, 400}, {zero + "/files?at=999999", nil, 404}}
	}
	samples["GET /api/v1/agents/{ref}/states"] = sampleAt(zero + "/states")
	samples["GET /api/v1/agents/{ref}/diff"] = func(t *testing.T, s *site) []sample {
		last := lastState(t, s)
		return []sample{{fmt.Sprint(zero, "/diff?state=", last), nil, 200}, {zero + "/diff", nil, 200}, {zero + "/diff?to=3", nil, 400},
			{zero + "/diff?state=1", nil, 404}, {fmt.Sprint(zero, "/diff?state=3&from=", last), nil, 400}}
	}
	samples["GET /api/v1/trash"] = sampleAt("/api/v1/trash")
	samples["POST /api/v1/trash/restore"] = func(*testing.T, *site) []sample {
		return []sample{{"/api/v1/trash/restore", map[string]string{}, 422}, {"/api/v1/trash/restore", map[string]string{"id": "none.1"}, 404}}
	}
	samples["POST /api/v1/trash/empty"] = func(*testing.T, *site) []sample {
		return []sample{{"/api/v1/trash/empty", map[string]any{}, 422}, {"/api/v1/trash/empty", map[string]any{"older": "soon"}, 422},
			{"/api/v1/trash/empty", map[string]any{"all": true, "dry_run": true}, 200}, {"/api/v1/trash/empty", map[string]any{"older": "30d", "over": 1}, 200}}
	}
	samples["POST /api/v1/agents/{ref}/restore"] = func(*testing.T, *site) []sample {
		return []sample{{zero + "/restore", map[string]any{}, 422}, {zero + "/restore", map[string]any{"last": true, "paths": []string{"../x"}}, 422},
			{zero + "/restore", map[string]any{"last": true, "rewind": true}, 422}, {zero + "/restore", map[string]any{"at": 999999}, 404},
			{zero + "/restore", map[string]any{"last": true, "dry_run": true}, 200}, {zero + "/restore", map[string]any{"last": true, "paths": []string{"main.go"}}, 200}}
	}
}

func lastState(t *testing.T, s *site) int64 {
	t.Helper()
	var all public.FileStates
	s.good(t, "GET", "/api/v1/agents/0/states", nil, 200, &all)
	if len(all.States) < 2 {
		t.Fatalf("%+v", all)
	}
	return int64(all.States[len(all.States)-1].ID)
}

// What a turn did to files is shown, and taken back, over HTTP.
func TestFilesOverHTTP(t *testing.T) {
	f := newFloor(t, `{"repeat": true, "steps": [{"text": "yes"}]}`)
	f.project(t)
	s := start(t, func(o *siteOptions) { o.Agents = f.Agents })
	const zero = "/api/v1/agents/0"
	var changes public.FileChanges
	s.good(t, "GET", fmt.Sprint(zero, "/diff?state=", lastState(t, s)), nil, 200, &changes)
	if len(changes.Changes) != 2 || changes.Changes[0].Path != "main.go" || !strings.Contains(changes.Changes[0].Diff, "+func main() {}") ||
		string(changes.Changes[1].RawPath) != "odd\xff" {
		t.Errorf("%+v", changes)
	}
	var done public.Restore
	s.good(t, "POST", zero+"/restore", map[string]any{"last": true}, 200, &done)
	if len(done.Restored)+len(done.Removed) != 0 || len(done.Kept) != 2 || done.Kept[0].Why != "changed while a command was running" {
		t.Errorf("%+v", done)
	}
	s.good(t, "POST", zero+"/restore", map[string]any{"last": true, "commands": true}, 200, &done)
	if len(done.Restored) != 1 || len(done.Removed) != 1 || len(done.Kept) != 0 || done.EntryID == nil {
		t.Errorf("%+v", done)
	}
	text, err := os.ReadFile(filepath.Join(done.State.Folder, "main.go"))
	if err != nil || string(text) != "package main\n" {
		t.Errorf("%q, %v", text, err)
	}
	var list public.FileList
	s.good(t, "GET", zero+"/files", nil, 200, &list)
	if len(list.Files) != 2 {
		t.Errorf("%+v", list)
	}
}
