package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/seal"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/ledger"
	"ramet/internal/operation"
	"ramet/internal/run"
	"ramet/internal/run/ndjson"
	"ramet/internal/run/rundir"
	"ramet/internal/store"
	"ramet/internal/testkit"
)

// furnishings give a site more than furnish does; other files of this package add theirs
// with an init function.
var furnishings []func(testing.TB) func(*siteOptions)

// sample is a request that goes well, or the one refusal that a route has of its own.
type sample struct {
	path   string // with its query
	body   any
	status int
}

// samples are requests for every route of the table, by method and path. A test fails
// for a route that has none; other files of this package add theirs with an init
// function. Those of a route are sent in order.
var samples = map[string]func(t *testing.T, s *site) []sample{
	"GET /health": sampleAt("/health?challenge=x"),
	"GET /login": func(_ *testing.T, s *site) []sample {
		code, _ := s.LoginCode()
		return []sample{{LoginPath(code), nil, 303}, {"/login?code=x", nil, 401}}
	},
	"POST /api/v1/login-codes": func(*testing.T, *site) []sample { return []sample{{"/api/v1/login-codes", nil, 201}} },
	"POST /api/v1/sign-out":    func(*testing.T, *site) []sample { return []sample{{"/api/v1/sign-out", nil, 204}} },
	"GET /api/v1/projects":     sampleAt("/api/v1/projects"),
	"GET /metrics":             sampleAt("/metrics"),
	"GET /openapi.json":        sampleAt("/openapi.json"),
	"GET /":                    sampleAt("/"),
	"GET /assets/{path...}":    sampleAt("/assets/app/main.js"),
	"POST /api/v1/runs": func(*testing.T, *site) []sample {
		return []sample{{"/api/v1/runs", record("sample", "status", "completed", "metrics_json", `{"input_tokens":1}`, "product", nil), 201},
			{"/api/v1/runs", record("sample", "status", "completed", "metrics_json", `{"input_tokens":1}`, "product", nil), 200},
			{"/api/v1/runs", record("sample", "product", "other"), 409}}
	},
	"POST /api/v1/runs/batch": func(*testing.T, *site) []sample {
		return []sample{{"/api/v1/runs/batch", map[string]any{"runs": []any{record("b1"), record("b1"), record("b1", "product", "x")}}, 200}}
	},
	"GET /api/v1/runs": func(t *testing.T, s *site) []sample {
		s.created(t, "list-1", "end_time", "2026-11-01T10:00:01Z", "git_commit_timestamp", "2026-11-01T10:00:01Z", "context_json", map[string]any{"a": 1})
		s.created(t, "list-2")
		return []sample{{"/api/v1/runs?limit=1&status=running&created_after=2026-01-01T00:00:00Z", nil, 200}, {"/api/v1/runs?agent_name=nobody", nil, 200}}
	},
	"GET /api/v1/runs/{event_id}": sampleOf("get", ""),
	"PATCH /api/v1/runs/{event_id}": func(t *testing.T, s *site) []sample {
		return []sample{{s.created(t, "patch"), `{"status":"failed","product":null}`, 200}}
	},
	"GET /api/v1/runs/{event_id}/tree": func(t *testing.T, s *site) []sample {
		path := s.created(t, "root", "job_type", "launch")
		s.created(t, "kid", "parent_run_id", "run-root", "job_type", "llm_call", "metrics_json", map[string]any{"api_cost_usd": 0.5})
		return []sample{{path + "/tree", nil, 200}}
	},
	"POST /api/v1/runs/{event_id}/associate-commit": func(t *testing.T, s *site) []sample {
		return []sample{{s.created(t, "commit") + "/associate-commit", `{"commit_hash":"0123456789","commit_author":"me"}`, 200}}
	},
	"GET /api/v1/runs/{event_id}/commit-url": sampleOf("commit-url", "/commit-url", "git_repo", "https://gitlab.com/o/r", "git_commit_hash", "0123456"),
	"GET /api/v1/runs/{event_id}/repo-url":   sampleOf("repo-url", "/repo-url", "git_repo", "https://gitlab.com/o/r"),
	"GET /api/v1/metadata":                   sampleAt("/api/v1/metadata"),
	"GET /api/v1/run-logs":                   sampleAt("/api/v1/run-logs"),
	"GET /api/v1/run-logs/{run_id}":          sampleAt("/api/v1/run-logs/r1"),
	"GET /api/v1/run-logs/{run_id}/snapshot": sampleAt("/api/v1/run-logs/r1/snapshot"),
	"GET /api/v1/run-logs/{run_id}/events":   sampleAt("/api/v1/run-logs/r1/events?after=0&limit=1"),
	"GET /api/v1/run-logs/{run_id}/verify": func(*testing.T, *site) []sample {
		return []sample{{"/api/v1/run-logs/r1/verify", nil, 200}, {"/api/v1/run-logs/bad/verify", nil, 409}, {"/api/v1/run-logs/none/verify", nil, 404}}
	},
	"POST /api/v1/run-logs": func(*testing.T, *site) []sample {
		return []sample{{"/api/v1/run-logs", map[string]any{"recipe": "translate", "repo": ".", "set": map[string]any{"to": "x"}, "no_cache": true}, 202}, {"/api/v1/run-logs", map[string]any{"recipes": "x"}, 422}}
	},
	"POST /api/v1/run-logs/{run_id}/resume": func(*testing.T, *site) []sample {
		return []sample{{"/api/v1/run-logs/r1/resume", map[string]any{"redo": []any{"a:1:all"}, "limits": map[string]any{"calls": "3"}}, 202}, {"/api/v1/run-logs/a%20b/resume", map[string]any{}, 400}}
	},
	"POST /api/v1/run-logs/{run_id}/cancel": func(*testing.T, *site) []sample {
		return []sample{{"/api/v1/run-logs/r1/cancel", map[string]any{"reason": "enough"}, 200}}
	},
	"POST /api/v1/run-logs/{run_id}/fork": func(*testing.T, *site) []sample {
		return []sample{{"/api/v1/run-logs/r1/fork", map[string]any{"at": "1"}, 201}, {"/api/v1/run-logs/r1/fork", map[string]any{"at": ""}, 422}}
	},
	"GET /api/v1/track": func(*testing.T, *site) []sample {
		return []sample{{"/api/v1/track", nil, 200}, {"/api/v1/track?status=completed", nil, 200}, {"/api/v1/track?status=spawnd", nil, 400}}
	},
	"GET /api/v1/usage": func(*testing.T, *site) []sample {
		return []sample{{"/api/v1/usage", nil, 200}, {"/api/v1/usage?by=day&since=7d", nil, 200}, {"/api/v1/usage?by=subtree", nil, 200},
			{"/api/v1/usage?by=week", nil, 400}, {"/api/v1/usage?since=x", nil, 400}}
	},
	"GET /api/v1/trust": sampleAt("/api/v1/trust"),
	"POST /api/v1/trust": func(*testing.T, *site) []sample {
		nothing := fmt.Sprintf("%x", sha256.Sum256([]byte("ramet trust 2\n"))) // acts in an empty folder
		return []sample{{"/api/v1/trust", map[string]any{"digest": "00"}, 403}, {"/api/v1/trust", map[string]any{"digest": nothing}, 200}}
	},
}

func sampleAt(path string) func(*testing.T, *site) []sample {
	return func(*testing.T, *site) []sample { return []sample{{path, nil, 200}} }
}

func sampleOf(unit, below string, fields ...any) func(*testing.T, *site) []sample {
	return func(t *testing.T, s *site) []sample {
		return []sample{{s.created(t, unit, fields...) + below, nil, 200}}
	}
}

// furnish gives a site everything there is: a run and a damaged one, a ledger, and a workspace with
// calls of models.
func furnish(t testing.TB) func(*siteOptions) {
	t.Helper()
	dir := t.TempDir()
	key := testkit.Must(seal.LoadKey(filepath.Join(dir, "keys", "key")))(t)
	runs := &rundir.Store{Root: filepath.Join(dir, "runs"), Logs: logs{}, Now: time.Now, Key: func() (*seal.Key, error) { return key, nil }}
	for _, id := range []string{"r1", "bad"} {
		config := []byte("{}\n")
		x := testkit.Must(runs.Begin(t.Context(), id, rundir.NDJSON, config, map[string]any{"run_id": id, "config_sha256": fmt.Sprintf("%x", sha256.Sum256(config))}))(t)
		testkit.OK(t, x.Close())
	}
	damage(t, filepath.Join(runs.Dir("bad"), "events.ndjson"))
	folder := ledger.FolderAt(filepath.Join(dir, "state"), ledger.FolderOptions{})
	testkit.Must(folder.Spawn(t.Context(), ledger.Start{ID: "kid-1", Plan: "02", Group: "g", Owner: ledger.SelfOwner()}))(t)
	var more []func(*siteOptions)
	for _, f := range furnishings {
		more = append(more, f(t))
	}
	return func(o *siteOptions) {
		for _, f := range more {
			f(o)
		}
		recordCalls(t, o.Agents.Workspace.Store)
		begins := func(_ context.Context, args ...string) (string, error) {
			return `{"run_id": "r1", "path": "/runs/r1", "run_state": "` + strings.ToUpper(args[1]) + `"}`, nil
		}
		client := o.Agents.Client.(operation.Local).OnRuns(runs, begins)
		client.Ledger = func(bool) (*ledger.Folder, error) { return folder, nil }
		o.Agents.Client = client
		o.Agents.Workspace.Home, o.Agents.Workspace.Place.Project = filepath.Join(dir, "home"), t.TempDir()
		o.Page = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the page") })
	}
}

// damage changes a byte in the middle of a file.
func damage(t testing.TB, path string) {
	t.Helper()
	text := testkit.Must(os.ReadFile(path))(t)
	text[len(text)/2] ^= 1
	testkit.OK(t, os.WriteFile(path, text, 0o600))
}

// logs keeps logs in the run's folder, as the binary does.
type logs struct{}

func (logs) Open(ctx context.Context, _ rundir.Kind, dir, _ string) (run.Log, error) {
	return ndjson.Open(ctx, filepath.Join(dir, "events.ndjson"))
}

func (logs) OpenWriter(ctx context.Context, _ rundir.Kind, dir, _ string) (run.Writer, string, error) {
	w, err := ndjson.OpenWriter(ctx, filepath.Join(dir, "events.ndjson"))
	return w, "", err
}

func TestEveryRouteIsInTheDocumentAndTheOtherWayRound(t *testing.T) {
	server := New(Options{})
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Summary     string
			Responses   map[string]any
			Security    *[]any
		}
	}
	testkit.OK(t, json.Unmarshal(server.Document(), &doc))
	table, ids := map[string]Route{}, map[string]bool{}
	for _, r := range server.table {
		table[r.Method+" "+pathParam().ReplaceAllString(r.Path, "{$1}")] = r
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			name := strings.ToUpper(method) + " " + path
			r, ok := table[name]
			if !ok {
				t.Errorf("the document has %s, the table has not", name)
			}
			delete(table, name)
			if op.OperationID == "" || op.Summary == "" || ids[op.OperationID] || len(op.Responses) < 2 {
				t.Errorf("%s: %+v", name, op)
			}
			ids[op.OperationID] = true
			if (op.Security != nil) != (r.Access == Public) {
				t.Errorf("%s: security %v", name, op.Security)
			}
		}
	}
	for name := range table {
		t.Errorf("the table has %s, the document has not", name)
	}
	if doc.OpenAPI != "3.1.0" || !bytes.Equal(server.Document(), OpenAPI("")) {
		t.Error("the document is not the same again")
	}
}

// Real answers of every route, and what was sent for them, are what the document says:
// nothing is missing, and nothing is there that it does not name.
func TestRealAnswersFitTheDocument(t *testing.T) {
	s := start(t, furnish(t))
	check := reader(t, s.Document())
	for _, r := range s.table {
		name := r.Method + " " + r.Path
		t.Run(name, func(t *testing.T) {
			give := samples[name]
			if give == nil {
				t.Fatal("there is no sample of this route: add one to samples (and what it needs to furnishings)")
			}
			for _, one := range give(t, s) {
				s.try(t, r, one, check)
			}
		})
	}
}

func (s *site) try(t *testing.T, r Route, one sample, check func(t *testing.T, pointer []string, text []byte)) {
	t.Helper()
	request := s.request(t, r.Method, one.path, one.body)
	if r.Stream {
		t.Fatal("a stream is tested by the one who made it: give no samples, but an empty list")
	}
	got := s.send(t, request)
	if got.status != one.status {
		t.Fatalf("%s: %d, want %d: %s", one.path, got.status, one.status, got.body)
	}
	here := []string{"paths", pathParam().ReplaceAllString(r.Path, "{$1}"), strings.ToLower(r.Method)}
	if r.Doc.Input != nil && one.status < 400 {
		text, ok := one.body.(string)
		if !ok {
			b := testkit.Must(json.Marshal(one.body))(t)
			text = string(b)
		}
		check(t, append(slices.Clone(here), "requestBody", "content", "application/json", "schema"), []byte(text))
	}
	if got.status >= 400 {
		check(t, append(here, "responses", "default", "content", "application/json", "schema"), got.body)
		return
	}
	i := slices.IndexFunc(r.Doc.Answers, func(a Answer) bool { return a.Status == got.status })
	if i < 0 {
		t.Fatalf("%d is not in the document", got.status)
	}
	a := r.Doc.Answers[i]
	media, _, _ := strings.Cut(got.header.Get("Content-Type"), ";")
	switch {
	case a.Body != nil && media == "application/json":
		check(t, append(here, "responses", strconv.Itoa(got.status), "content", media, "schema"), got.body)
	case a.Body != nil || a.Media == "" && len(got.body) > 0:
		t.Errorf("it answers %q", media)
	case a.Media != "*/*" && !strings.HasPrefix(a.Media, media):
		t.Errorf("it answers %q, not %q", media, a.Media)
	}
}

// reader validates texts against schemas of a document. Objects are closed first: what
// the document does not name must not be answered.
func reader(t *testing.T, document []byte) func(t *testing.T, pointer []string, text []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range doc.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any) {
		schema := one.(map[string]any)
		if _, said := schema["additionalProperties"]; !said && schema["properties"] != nil {
			schema["additionalProperties"] = false
		}
		if len(schema) == 0 {
			t.Errorf("%s says nothing", name)
		}
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	testkit.OK(t, c.AddResource("http://doc/openapi.json", doc))
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	return func(t *testing.T, pointer []string, text []byte) {
		t.Helper()
		at := "http://doc/openapi.json#"
		for _, step := range pointer {
			at += "/" + escape.Replace(step)
		}
		schema, err := c.Compile(at)
		if err != nil {
			t.Fatal(err)
		}
		value := testkit.Must(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
		if err := schema.Validate(value); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// The samples are those of the table.
func TestNoSampleIsLeftOver(t *testing.T) {
	left := maps.Clone(samples)
	for _, r := range New(Options{}).table {
		delete(left, r.Method+" "+r.Path)
	}
	for name := range left {
		t.Errorf("%s is not a route", name)
	}
}

// A part that is missing is said to be missing; the table stays whole.
func TestWithoutPartsTheTableIsTheSame(t *testing.T) {
	s := start(t, func(o *siteOptions) { o.Telemetry, o.Agents.Client, o.Page = nil, nil, nil })
	for _, path := range []string{"/api/v1/runs", "/api/v1/metadata", "/api/v1/run-logs", "/api/v1/run-logs/r1/events", "/api/v1/track", "/api/v1/usage", "/"} {
		s.ask(t, "GET", path, nil).refused(t, 404, "NOT_FOUND")
	}
	s.ask(t, "POST", "/api/v1/runs", record("a")).refused(t, 404, "NOT_FOUND")
}

// recordCalls adds a call of a model that was paid for and one that failed to the history of agent 0.
func recordCalls(t testing.TB, s *store.Cleaned) {
	t.Helper()
	zero := testkit.Must(s.Zero(t.Context()))(t)
	for _, c := range []history.Call{{Model: "a/b", Outcome: "stop", Input: 10, Output: 5, Cost: 7, Priced: true, TookMS: 3}, {Model: "a/c", Outcome: "PROVIDER_AUTH"}} {
		testkit.Must(s.Append(t.Context(), zero.ID, agent.Passing(), history.Draft{Kind: history.Usage, Meta: history.Meta{Call: &c}}))(t)
	}
}

func TestRunsAndTheLedgerAreRead(t *testing.T) {
	s := start(t, furnish(t))
	var runs operation.RunList
	s.ask(t, "GET", "/api/v1/run-logs", nil).into(t, &runs)
	if len(runs.Runs) != 2 || runs.Runs[0].Error == nil || runs.Runs[1].Error != nil || runs.Runs[1].Events != 1 {
		t.Errorf("%+v", runs)
	}
	var page operation.EventPage
	s.ask(t, "GET", "/api/v1/run-logs/r1/events", nil).into(t, &page)
	if len(page.Events) != 1 || page.Next != 1 || !bytes.Contains(page.Events[0], []byte(`"RUN_CREATED"`)) {
		t.Errorf("%+v", page)
	}
	s.ask(t, "GET", "/api/v1/run-logs/r1/events?after=1", nil).into(t, &page)
	if len(page.Events) != 0 || page.Next != 1 {
		t.Errorf("%+v", page)
	}
	s.ask(t, "GET", "/api/v1/run-logs/r1/events?limit=1001", nil).refused(t, 400, "INVALID_FIELD")
	s.ask(t, "GET", "/api/v1/run-logs/r1/events?after=-1", nil).refused(t, 400, "INVALID_FIELD")
	s.ask(t, "GET", "/api/v1/run-logs/bad/verify", nil).refused(t, 409, "EVENT_CHAIN_BROKEN")
	var proof operation.RunProof
	if s.ask(t, "GET", "/api/v1/run-logs/r1/verify", nil).into(t, &proof); !proof.OK || proof.Events != 1 {
		t.Errorf("%+v", proof)
	}
	var tracked operation.TrackList
	if s.ask(t, "GET", "/api/v1/track?status=spawned", nil).into(t, &tracked); len(tracked.Entries) != 1 || tracked.Entries[0].ID != "kid-1" {
		t.Errorf("%+v", tracked)
	}
	var spent registry.Spending
	s.ask(t, "GET", "/api/v1/usage?by=model", nil).into(t, &spent)
	if len(spent.Rows) != 2 || spent.Total.Calls != 2 || spent.Total.Failed != 1 || spent.Total.Cost != 7 || spent.Total.Unpriced != 1 {
		t.Errorf("%+v", spent)
	}
}

// An operation is described once: its route is derived, and no other has its id, or ends with its name.
func TestNoRouteDescribesAnOperationAgain(t *testing.T) {
	derived, ids := map[string]bool{}, map[string]bool{}
	for _, r := range (Agents{}).operationRoutes() {
		derived[r.Method+" "+r.Path] = true
	}
	for _, r := range New(Options{}).table {
		if ids[r.Doc.ID] {
			t.Errorf("two routes have the id %s", r.Doc.ID)
		}
		ids[r.Doc.ID] = true
		if o := operation.Named(path.Base(r.Path)); o != nil && !derived[r.Method+" "+r.Path] {
			t.Errorf("the route %s %s is made by hand, and there is an operation %s", r.Method, r.Path, o.Describe().Name)
		}
	}
}

// Every route, and every code that only HTTP has, is in docs/http.md.
func TestTheRoutesAreDocumented(t *testing.T) {
	text := testkit.Must(os.ReadFile("../../../docs/http.md"))(t)
	for _, r := range New(Options{}).table {
		if !bytes.Contains(text, []byte("`"+r.Method+" "+r.Path+"`")) {
			t.Errorf("docs/http.md does not have `%s %s`", r.Method, r.Path)
		}
	}
	for _, code := range []fault.Code{codeUnauthenticated, codeForeignHost, codeCrossOrigin, codeMethod, codeTooLarge, codeMedia, codeSlow, codeBadJSON, codeInternal} {
		if !bytes.Contains(text, []byte("`"+string(code)+"`")) {
			t.Errorf("docs/http.md does not have `%s`", code)
		}
	}
}

// nameless says who asked.
type nameless struct{}

func (nameless) ServeMCP(w http.ResponseWriter, _ *http.Request, by id.Agent) {
	send(w, http.StatusOK, "application/json", []byte(`{"by":"`+string(by)+`"}`))
}

func init() {
	furnishings = append(furnishings, func(testing.TB) func(*siteOptions) { return func(o *siteOptions) { o.MCP = nameless{} } })
	samples["POST /mcp"] = func(*testing.T, *site) []sample { return nil } // see below, and the real clients of internal/app
}

// The token of an agent opens /mcp alone, as that agent; one that was changed opens nothing.
func TestTheTokenOfAnAgentOpensOneRoute(t *testing.T) {
	s := start(t, func(o *siteOptions) { o.MCP = nameless{} })
	who := id.NewAgent()
	token := s.o.Token.For(who)
	show := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	if got := s.ask(t, "POST", "/mcp", "{}", show(token)); got.status != 200 || !strings.Contains(string(got.body), string(who)) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.ask(t, "POST", "/mcp", "{}"); got.status != 200 || string(got.body) != `{"by":""}` {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, r := range s.table {
		if r.Access != Processes && r.Access != Public {
			s.ask(t, r.Method, somewhere(r), body(r), show(token)).refused(t, 401, "UNAUTHENTICATED")
		}
	}
	s.ask(t, "GET", "/no/such", nil, show(token)).refused(t, 401, "UNAUTHENTICATED")
	_, stamp, _ := strings.Cut(strings.TrimPrefix(token, "ramet-agent."), ".")
	for _, wrong := range []string{token[:len(token)-1], token + "0", "ramet-agent." + string(id.NewAgent()) + "." + stamp,
		"ramet-agent." + string(who) + ".", "ramet-agent." + "." + stamp, strings.TrimPrefix(token, "ramet-agent."), strings.ToUpper(token)} {
		s.ask(t, "POST", "/mcp", "{}", show(wrong)).refused(t, 401, "UNAUTHENTICATED")
	}
}
