package httpapi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/kit"
	"ramet/internal/core/registry"
	"ramet/internal/core/trust"
	"ramet/internal/operation/public"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
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

// The samples of agents (see openapi_test.go) share one floor and come in the order of
// the table.
func init() {
	furnishings = append(furnishings, func(t testing.TB) func(*siteOptions) {
		f := newFloor(t, `
{"when": "permit me", "steps": [{"call": "bash", "args": {"command": "rm -rf old"}}]}
{"repeat": true, "steps": [{"text": "yes"}]}
`)
		f.project(t)
		return func(o *siteOptions) { o.Agents = f.Agents }
	})
	const zero = "/api/v1/agents/0"
	for name, give := range map[string]func(*testing.T, *site) []sample{
		"GET /api/v1/home": func(*testing.T, *site) []sample { return []sample{{"/api/v1/home", nil, 200}} },
		"GET /api/v1/lineage": func(t *testing.T, s *site) []sample {
			s.good(t, "POST", "/api/v1/agents/0/send", map[string]string{"body": "dear"}, 201, nil)
			return []sample{{"/api/v1/lineage", nil, 200}}
		},
		"GET /api/v1/search": func(*testing.T, *site) []sample {
			return []sample{{"/api/v1/search?q=a", nil, 200}, {"/api/v1/search?q=a&agent=0&limit=3", nil, 200}, {"/api/v1/search", nil, 400}}
		},
		"GET /api/v1/agents": func(t *testing.T, s *site) []sample {
			s.prompted(t, strings.Repeat("long ", 4000), loop.TurnEnded)
			return []sample{{"/api/v1/agents?all=1", nil, 200}}
		},
		"GET /api/v1/agents/{ref}": func(*testing.T, *site) []sample {
			return []sample{{zero, nil, 200}, {"/api/v1/agents/nobody", nil, 404}}
		},
		"GET /api/v1/agents/{ref}/messages": func(*testing.T, *site) []sample {
			return []sample{{zero + "/messages?own=1&limit=2", nil, 200}, {zero + "/messages?limit=1000", nil, 200}, {zero + "/messages?after=x", nil, 400}}
		},
		"GET /api/v1/agents/{ref}/messages/{message}/parts/{part}": func(t *testing.T, s *site) []sample {
			var page struct {
				Messages []struct {
					ID   int64
					Kind string
				}
			}
			s.good(t, "GET", zero+"/messages?own=1", nil, 200, &page)
			for _, m := range page.Messages {
				if m.Kind == "user" {
					return []sample{{zero + "/messages/" + fmt.Sprint(m.ID) + "/parts/0", nil, 200}, {zero + "/messages/" + fmt.Sprint(m.ID) + "/parts/9", nil, 404}}
				}
			}
			t.Fatalf("no message of the user: %+v", page)
			return nil
		},
		"GET /api/v1/agents/{ref}/mail": sampleAt(zero + "/mail"),
		"POST /api/v1/agents/{ref}/prompt": func(*testing.T, *site) []sample {
			return []sample{{zero + "/prompt", promptBody{Text: "hello"}, 202}}
		},
		"POST /api/v1/agents/{ref}/fork": func(*testing.T, *site) []sample {
			return []sample{{zero + "/fork", map[string]string{"name": "victim"}, 201}, {zero + "/fork", map[string]string{"name": "victim"}, 409}}
		},
		"GET /api/v1/agents/{ref}/kill-preview": sampleAt("/api/v1/agents/victim/kill-preview"),
		"POST /api/v1/agents/{ref}/kill": func(*testing.T, *site) []sample {
			return []sample{{"/api/v1/agents/victim/kill", map[string]int{"confirm": 5}, 409}, {"/api/v1/agents/victim/kill", map[string]int{"confirm": 1}, 200}}
		},
		"POST /api/v1/agents/{ref}/interrupt": func(*testing.T, *site) []sample { return []sample{{zero + "/interrupt", "{}", 200}} },
		"POST /api/v1/agents/{ref}/send": func(*testing.T, *site) []sample {
			return []sample{{zero + "/send", map[string]string{"text": "hi"}, 201}}
		},
		"GET /api/v1/agents/{ref}/mode": sampleAt(zero + "/mode"),
		"POST /api/v1/agents/{ref}/mode": func(*testing.T, *site) []sample {
			mode := func(word string) map[string]string { return map[string]string{"mode": word} }
			return []sample{{zero + "/mode", mode("ask"), 200}, {zero + "/mode", mode("anything"), 422}, {zero + "/mode", mode(""), 422}, {"/api/v1/agents/nobody/mode", mode("ask"), 404}}
		},
		"GET /api/v1/events": func(*testing.T, *site) []sample { return nil }, // see sse_test.go
		"GET /api/v1/permissions": func(t *testing.T, s *site) []sample {
			s.prompted(t, "permit me", loop.Asking)
			return []sample{{"/api/v1/permissions", nil, 200}}
		},
		"POST /api/v1/permissions/{id}": func(t *testing.T, s *site) []sample {
			var list AskList
			s.good(t, "GET", "/api/v1/permissions", nil, 200, &list)
			if len(list.Asks) != 1 {
				t.Fatalf("%+v", list)
			}
			return []sample{{"/api/v1/permissions/" + list.Asks[0].ID, AnswerInput{Answer: "deny"}, 204},
				{"/api/v1/permissions/none", AnswerInput{Answer: "deny"}, 404}}
		},
	} {
		samples[name] = give
	}
}

// prompted says something to agent 0 and waits for what comes of it.
func (s *site) prompted(t *testing.T, text string, what loop.EventType) {
	t.Helper()
	var zero AgentNow
	s.good(t, "GET", "/api/v1/agents/0", nil, 200, &zero)
	w := s.watch(t, "", "")
	defer w.close()
	s.good(t, "POST", "/api/v1/agents/0/prompt", promptBody{Text: text}, 202, nil)
	w.until(isType(what, zero.UUID))
}

// A fork over HTTP makes a child by a definition, once a person accepted it.
func TestAForkByADefinition(t *testing.T) {
	f := newFloor(t, `{"repeat": true, "steps": [{"text": "ok"}]}`)
	project := t.TempDir()
	f.Workspace.Place.Project = project
	file := filepath.Join(project, ".agents", "agents", "reviewer.md")
	testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
	testkit.OK(t, os.WriteFile(file, []byte("---\ndescription: reviews\ntools: Read\n---\nYou review.\n"), 0o644))
	s := opened(t, f)
	s.ask(t, "POST", "/api/v1/agents/0/fork", map[string]string{"name": "rev", "agent": "reviewer"}).refused(t, 404, "NOT_FOUND")
	gate := trust.Gate{Home: f.home, Project: project, Sources: kit.Sources()}
	found := testkit.Must(gate.Review())(t)
	testkit.OK(t, gate.Accept(t.Context(), found))
	var rev AgentNow
	s.good(t, "POST", "/api/v1/agents/0/fork", map[string]string{"name": "rev", "role": "reviewer"}, 201, &rev)
	limits, err := registry.Limits(t.Context(), f.store, rev.UUID)
	if err != nil || len(limits) != 1 || limits[0].By != "agent reviewer" {
		t.Errorf("%v %v", limits, err)
	}
}
