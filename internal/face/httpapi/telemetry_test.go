package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ramet/internal/telemetry"
	"ramet/internal/testkit"
)

func TestBadRecordsSayWhere(t *testing.T) {
	s := start(t)
	path := s.created(t, "there")
	for _, c := range []struct {
		name, method, path string
		body               any
		status             int
		code, pointer      string
		suggestion         string
	}{
		{"not JSON", "POST", "/api/v1/runs", `{"event_id": trux}`, 400, "INVALID_JSON", "/event_id", ""},
		{"empty", "POST", "/api/v1/runs", ``, 400, "INVALID_JSON", "", ""},
		{"a key twice", "POST", "/api/v1/runs", `{"run_id":"a","run_id":"b"}`, 400, "INVALID_JSON", "/run_id", ""},
		{"an array", "POST", "/api/v1/runs", `[]`, 422, "INVALID_FIELD", "", ""},
		{"unknown field", "POST", "/api/v1/runs", record("a", "staus", "x"), 422, "INVALID_FIELD", "/staus", "status"},
		{"no zone", "POST", "/api/v1/runs", record("a", "start_time", "2026-11-01T10:00:00"), 422, "INVALID_FIELD", "/start_time", "2026-11-01T10:00:00Z"},
		{"unknown status", "POST", "/api/v1/runs", record("a", "status", "sucess"), 422, "INVALID_FIELD", "/status", "success"},
		{"unknown job", "POST", "/api/v1/runs", record("a", "job_type", "gatee"), 422, "INVALID_FIELD", "/job_type", "gate"},
		{"negative counter", "POST", "/api/v1/runs", record("a", "items_failed", -1), 422, "INVALID_FIELD", "/items_failed", ""},
		{"not a UUID", "POST", "/api/v1/runs", record("a", "event_id", "../../etc/passwd"), 422, "INVALID_FIELD", "/event_id", ""},
		{"metrics no object", "POST", "/api/v1/runs", record("a", "metrics_json", []int{1}), 422, "INVALID_FIELD", "/metrics_json", ""},
		{"deep", "POST", "/api/v1/runs", strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), 400, "INVALID_JSON", "", ""},
		{"deep in a string", "POST", "/api/v1/runs", record("a", "context_json", strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)), 422, "INVALID_FIELD", "/context_json" + strings.Repeat("/0", 64), ""},
		{"patch of an id", "PATCH", path, `{"run_id":"x"}`, 422, "INVALID_FIELD", "/run_id", ""},
		{"patch of updated_at", "PATCH", path, `{"updated_at":"2026-11-01T10:00:00Z"}`, 422, "INVALID_FIELD", "/updated_at", ""},
		{"unknown in a patch", "PATCH", path, `{"end_tme":null}`, 422, "INVALID_FIELD", "/end_tme", "end_time"},
		{"patch of nothing", "PATCH", path, `{}`, 422, "INVALID_FIELD", "", ""},
		{"end before start", "PATCH", path, `{"end_time":"2026-10-01T10:00:00Z"}`, 422, "INVALID_FIELD", "/end_time", ""},
		{"bad commit", "POST", path + "/associate-commit", `{"commit_hash":"xyz"}`, 422, "INVALID_FIELD", "/commit_hash", ""},
		{"no commit", "POST", path + "/associate-commit", `{}`, 422, "INVALID_FIELD", "/commit_hash", ""},
		{"commit no string", "POST", path + "/associate-commit", `{"commit_hash":7}`, 422, "INVALID_FIELD", "/commit_hash", ""},
		{"commit misspelt", "POST", path + "/associate-commit", `{"commit_hsh":"x"}`, 422, "INVALID_FIELD", "/commit_hsh", "commit_hash"},
		{"commit without zone", "POST", path + "/associate-commit", `{"commit_hash":"0123456","commit_timestamp":"2026-11-01"}`, 422, "INVALID_FIELD", "/commit_timestamp", ""},
		{"commit cut off", "POST", path + "/associate-commit", `{"commit_hash":"01`, 400, "INVALID_JSON", "/commit_hash", ""},
		{"batch of something else", "POST", "/api/v1/runs/batch", `{"run":[]}`, 422, "INVALID_FIELD", "/run", "runs"},
		{"bad cursor", "GET", "/api/v1/runs?cursor=AAAA", nil, 400, "INVALID_FIELD", "/query/cursor", ""},
		{"bad limit", "GET", "/api/v1/runs?limit=1001", nil, 400, "INVALID_FIELD", "/query/limit", ""},
		{"bad time", "GET", "/api/v1/runs?created_after=yesterday", nil, 400, "INVALID_FIELD", "/query/created_after", ""},
		{"bad status", "GET", "/api/v1/runs?status=runing", nil, 400, "INVALID_FIELD", "/query/status", "running"},
		{"unknown parameter", "GET", "/api/v1/runs?agent=x", nil, 400, "INVALID_FIELD", "/query/agent", ""},
		{"parameter misspelt", "GET", "/api/v1/runs?trace_i=x", nil, 400, "INVALID_FIELD", "/query/trace_i", "trace_id"},
		{"parameter twice", "GET", "/api/v1/runs?run_id=a&run_id=b", nil, 400, "INVALID_FIELD", "/query/run_id", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := s.ask(t, c.method, c.path, c.body).refused(t, c.status, c.code)
			if len(e.Details) == 0 || e.Details[0].Pointer != c.pointer || e.Details[0].Suggestion != c.suggestion {
				t.Errorf("details %+v, want %s and %q", e.Details, c.pointer, c.suggestion)
			}
		})
	}
	if n := s.rows(t); n != 1 {
		t.Errorf("%d records", n)
	}
	if got := s.ask(t, "GET", "/api/v1/runs?run_id=%ff", nil); got.status != 400 {
		t.Errorf("broken UTF-8 in a query: %d", got.status)
	}
	if got := s.ask(t, "GET", "/api/v1/runs?a=%zz", nil); got.status != 400 {
		t.Errorf("broken escape in a query: %d", got.status)
	}
}

func TestPathsDoNotLeadAnywhere(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		path   string
		status int
	}{
		{"/api/v1/runs/..", 404}, {"/api/v1/runs/%2e%2e", 404}, {"/api/v1/runs/../metadata", 404}, {"/api/v1//runs", 404}, {"//api/v1/runs", 404},
		{"/api/v1/runs/", 404}, {"/api/v1/runs/%2e", 404}, {"/api/v1/runs/a%2fb", 404}, {"/api/v1/runs/a%5cb", 404}, {"/api/v1/runs/%00", 404},
		{"/api/v1/runs/a%0ab", 404}, {"/api/v1/runs/%ff", 404}, {"/api/v1/run-logs/%2e%2e%2f%2e%2e", 404}, {"/api/v1/run-logs/..%5c..", 404},
		{"/assets/../token", 404}, {"/assets/%2e%2e/token", 404}, {"/assets/a/%2e%2e/%2e%2e/token", 404}, {"/assets/", 404},
		{"/api/v1/runs/x", 400}, {"/api/v1/runs/';--", 400}, {"/api/v1/runs/" + strings.Repeat("a", 10_000), 400}, {"/api/v1/run-logs/a%20b", 400},
		{"/api/v1/run-logs/" + strings.Repeat("a", 10_000), 400}, {"/api/v1/runs/00000000-0000-4000-8000-00000000000%3f", 400},
		{"/api/v1/runs/00000000-0000-4000-8000-000000000000", 404}, {"/API/v1/runs", 404},
	} {
		got := s.ask(t, "GET", "/", nil, func(r *http.Request) { // as it stands, not cleaned
			u := testkit.Must(r.URL.Parse("http://" + s.host))(t)
			u.Opaque = c.path
			if strings.HasPrefix(c.path, "//") {
				u.Opaque = "http://" + s.host + c.path
			}
			r.URL = u
		})
		if got.status != c.status {
			t.Errorf("%.60s: %d, want %d: %s", c.path, got.status, c.status, got.body)
		}
	}
}

func TestABatchIsTakenItemByItem(t *testing.T) {
	s := start(t)
	s.created(t, "known")
	batch := map[string]any{"runs": []any{record("a"), record("known"), record("known", "product", "other"),
		record("b", "status", "x"), 7, record("a"), record("c")}}
	got := s.ask(t, "POST", "/api/v1/runs/batch", batch)
	var out BatchAnswer
	if got.into(t, &out); got.status != 200 {
		t.Fatalf("%d: %s", got.status, got.body)
	}
	var statuses []int
	for _, r := range out.Results {
		statuses = append(statuses, r.Status)
		if (r.Error == nil) != (r.Status < 300) || (r.Error != nil) != (r.Outcome == "refused") {
			t.Errorf("%+v", r)
		}
	}
	if !slices.Equal(statuses, []int{201, 200, 409, 422, 422, 200, 201}) {
		t.Errorf("statuses %v: %s", statuses, got.body)
	}
	if e := out.Results[3]; e.EventID != telemetry.EventID("test", "b") || e.Error.Details[0].Pointer != "/runs/3/status" {
		t.Errorf("%+v %+v", e, e.Error)
	}
	if n := s.rows(t); n != 3 {
		t.Errorf("%d records", n)
	}
	if got := s.ask(t, "POST", "/api/v1/runs/batch", `{"runs":[]}`); got.status != 200 || !strings.Contains(string(got.body), `"results":[]`) {
		t.Errorf("empty batch: %d %s", got.status, got.body)
	}
	if got := s.ask(t, "POST", "/api/v1/runs/batch", `{"runs":[`+strings.Repeat("{},", 1000)+`{}]}`); got.status != 422 {
		t.Errorf("1001 records: %d", got.status)
	}
}

func TestAListGoesOnByCursor(t *testing.T) {
	s := start(t)
	var batch []any
	for i := range 25 {
		batch = append(batch, record(fmt.Sprintf("%02d", i), "agent_name", []string{"even", "odd"}[i%2],
			"context_json", map[string]any{"trace_id": fmt.Sprintf("t%d", i%5)}))
	}
	s.ask(t, "POST", "/api/v1/runs/batch", map[string]any{"runs": batch})
	var seen []string
	for path, pages := "/api/v1/runs?limit=10", 1; ; pages++ {
		var page RunPage
		s.ask(t, "GET", path, nil).into(t, &page)
		for _, r := range page.Runs {
			seen = append(seen, r.RunID)
		}
		s.created(t, fmt.Sprintf("late-%d", pages)) // moves nothing
		if page.Next == nil {
			break
		}
		path = "/api/v1/runs?limit=10&cursor=" + *page.Next
	}
	if len(seen) != 25 || seen[0] != "run-24" || seen[24] != "run-00" {
		t.Errorf("%v", seen)
	}
	for query, want := range map[string]int{"agent_name=odd": 12, "trace_id=t1": 5, "agent_name=odd&trace_id=t1": 3, "status=running&job_type=gate": 0,
		"run_id=run-07": 1, "start_time_from=2026-11-01T11:00:00%2B01:00&trace_id=t2": 5, "start_time_from=2026-11-01T11:00:00Z": 0, "created_before=2026-01-01T00:00:00Z": 0} {
		var page RunPage
		if s.ask(t, "GET", "/api/v1/runs?"+query, nil).into(t, &page); len(page.Runs) != want || page.Runs == nil {
			t.Errorf("%s: %d records, want %d", query, len(page.Runs), want)
		}
	}
}

func TestATreeHasSums(t *testing.T) {
	s := start(t)
	root := s.created(t, "launch", "job_type", "launch")
	s.created(t, "node", "job_type", "orchestrator_node", "parent_run_id", "run-launch")
	for i := range 3 {
		s.created(t, fmt.Sprint("call", i), "job_type", "llm_call", "parent_run_id", "run-node",
			"metrics_json", map[string]any{"input_tokens": 10, "output_tokens": 5, "api_cost_usd": 0.25})
	}
	var tree telemetry.Branch
	s.ask(t, "GET", root+"/tree", nil).into(t, &tree)
	if tree.Sums.Calls != 3 || tree.Sums.InputTokens != 30 || tree.Sums.CostUSD != 0.75 || tree.Sums.Records != 5 || len(tree.Children[0].Children) != 3 {
		t.Errorf("%+v", tree.Sums)
	}
	s.ask(t, "GET", "/api/v1/runs/00000000-0000-4000-8000-000000000000/tree", nil).refused(t, 404, "NOT_FOUND")
	var all telemetry.Metadata
	if s.ask(t, "GET", "/api/v1/metadata", nil).into(t, &all); all.Records != 5 {
		t.Errorf("%+v", all)
	}

	metrics := string(s.ask(t, "GET", "/metrics", nil).body)
	for _, want := range []string{
		`ramet_telemetry_runs{job_type="llm_call",status="running"} 3`, `ramet_telemetry_runs{job_type="launch",status="running"} 1`,
		`ramet_llm_tokens{kind="input"} 30`, `ramet_llm_tokens{kind="output"} 15`, `ramet_llm_cost_usd 0.75`, `version="1.2.3"`,
		`ramet_http_requests_total{route="POST /api/v1/runs",status="201"} 5`, `ramet_sse_clients 0`,
		`ramet_http_requests_total{route="GET /api/v1/runs/{event_id}/tree",status="404"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("%s is missing in\n%s", want, metrics)
		}
	}
}

func TestACommitHasAnAddress(t *testing.T) {
	s := start(t)
	path := s.created(t, "a", "git_repo", "git@github.com:o/r.git")
	s.ask(t, "GET", path+"/commit-url", nil).refused(t, 404, "NOT_FOUND")
	var r telemetry.Record
	got := s.ask(t, "POST", path+"/associate-commit", `{"commit_hash":"0123456789abcdef0123456789abcdef01234567","commit_source":"ci","commit_author":"A <a@x>","commit_timestamp":"2026-11-01T10:00:00Z"}`)
	if got.into(t, &r); r.GitCommitSource != "ci" || r.GitCommitTimestamp == nil || r.GitCommitAuthor != "A <a@x>" {
		t.Errorf("%s", got.body)
	}
	var link Link
	if s.ask(t, "GET", path+"/commit-url", nil).into(t, &link); link.URL != "https://github.com/o/r/commit/0123456789abcdef0123456789abcdef01234567" {
		t.Error(link.URL)
	}
	if s.ask(t, "GET", path+"/repo-url", nil).into(t, &link); link.URL != "https://github.com/o/r" {
		t.Error(link.URL)
	}
	s.ask(t, "GET", s.created(t, "b")+"/repo-url", nil).refused(t, 404, "NOT_FOUND")
}

func TestForgeURL(t *testing.T) {
	for remote, want := range map[string]string{
		"https://github.com/o/r.git":                 "https://github.com/o/r + /commit/",
		"https://user:secret@github.com/o/r":         "https://github.com/o/r + /commit/",
		"git@gitlab.com:g/sub/r.git":                 "https://gitlab.com/g/sub/r + /-/commit/",
		"ssh://git@gitlab.example:2222/g/r.git":      "https://gitlab.example/g/r + /-/commit/",
		"http://gitea.local:3000/o/r":                "http://gitea.local:3000/o/r + /commit/",
		"https://codeberg.org/o/r/":                  "https://codeberg.org/o/r + /commit/",
		"git://github.com/o/r":                       "https://github.com/o/r + /commit/",
		"https://example.com/o/r":                    "",
		"":                                           "",
		"/home/me/github/r":                          "",
		"file:///github/o/r":                         "",
		"javascript://github.com/%0aalert(1)/x":      "",
		"javascript:alert(1)//github.com/o":          "",
		"https://github.com":                         "",
		"https://github.com/o":                       "",
		"https://github.com/../../x":                 "",
		"https://github.com/o/r?x=1":                 "",
		"https://github.com\"><script>/o/r":          "",
		"github.com:o/r\"><script>alert(1)</script>": "https://github.com/o/r%22%3E%3Cscript%3Ealert%281%29%3C/script%3E + /commit/",
		"C:\\github\\o\\r":                           "",
	} {
		got, commits, ok := forgeURL(remote)
		if ok {
			got += " + " + commits
		}
		if got != want {
			t.Errorf("%q: %q, want %q", remote, got, want)
		}
	}
}

func FuzzForgeURL(f *testing.F) {
	for _, seed := range []string{"git@github.com:o/r.git", "https://u:p@gitlab.com/o/r", "javascript:github/x/y", "ssh://[::1]:22/gitea/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, remote string) {
		got, _, ok := forgeURL(remote)
		if ok && (!strings.HasPrefix(got, "https://") && !strings.HasPrefix(got, "http://") || strings.ContainsAny(got, "\"'<> \n@") && !strings.Contains(remote, "@") || strings.ContainsAny(got, "\"<> \n")) {
			t.Errorf("%q: %q", remote, got)
		}
	})
}

// What the document calls a record is what the parser takes, field by field.
func TestTheDocumentKnowsTheFieldsOfRecords(t *testing.T) {
	types := newTypes()
	in := (RunInput{}).Shape(types).Schema()["properties"].(map[string]any)
	for name := range in {
		if _, err := telemetry.ParseNew(fmt.Appendf(nil, `{%q: null}`, name)); err != nil {
			for _, d := range telemetry.Details(err) {
				if d.Pointer == "/"+name && d.Message != "is missing" {
					t.Errorf("%s: %s", name, d.Message)
				}
			}
		}
	}
	for name := range (RunPatch{}).Shape(types).Schema()["properties"].(map[string]any) {
		_, err := telemetry.ParsePatch(fmt.Appendf(nil, `{%q: []}`, name))
		if d := telemetry.Details(err); len(d) == 0 || d[0].Message == "no such field" || strings.Contains(d[0].Message, "service") || strings.Contains(d[0].Message, "stays") {
			t.Errorf("%s: %v", name, err)
		}
	}
	text := testkit.Must(json.Marshal(telemetry.Record{}))(t)
	var fields map[string]any
	testkit.OK(t, json.Unmarshal(text, &fields))
	for name := range fields {
		if in[name] == nil {
			t.Errorf("%s is not in the document", name)
		}
	}
}
