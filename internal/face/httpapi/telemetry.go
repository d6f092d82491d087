package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
)

// RunPage is a page of records, newest first.
type RunPage struct {
	Runs []telemetry.Record `json:"runs"`
	Next *string            `json:"next_cursor"` // null: no more
}

// BatchAnswer holds the result of each record of a batch, in order.
type BatchAnswer struct {
	Results []BatchResult `json:"results"`
}

// BatchResult is the answer that the record would have received alone.
type BatchResult struct {
	EventID string `json:"event_id"` // as far as it could be read
	Outcome string `json:"outcome"`  // created, duplicate or refused
	Status  int    `json:"status"`
	Error   *Error `json:"error,omitempty"`
}

// CommitInput says which commit a run became.
type CommitInput struct {
	Hash      string  `json:"commit_hash"`
	Source    *string `json:"commit_source,omitempty"`
	Author    *string `json:"commit_author,omitempty"`
	Timestamp *string `json:"commit_timestamp,omitempty"`
}

// Link is an address to open.
type Link struct {
	URL string `json:"url"`
}

const runPath = "/api/v1/runs/{event_id}"

// records are the routes of telemetry; without a store they find nothing.
type records struct{ store telemetry.Store }

func (t records) routes() []Route {
	doc := func(id, summary string) Doc { return Doc{ID: id, Tag: "telemetry", Summary: summary} }
	list := doc("listRuns", "List telemetry runs, newest first")
	list.Query = []Param{
		{Name: "agent_name"}, {Name: "status", About: "aliases are understood"}, {Name: "job_type"}, {Name: "run_id"},
		{Name: "parent_run_id"}, {Name: "trace_id"},
		{Name: "created_before", Form: "date-time"}, {Name: "created_after", Form: "date-time"},
		{Name: "start_time_from", Form: "date-time"}, {Name: "start_time_to", Form: "date-time"},
		{Name: "limit", Form: "integer", About: "1 to 1000; 100 if absent"},
		{Name: "cursor", About: "next_cursor of the page before"},
	}
	create := doc("createRun", "Create a telemetry run; the same body again is the same run")
	create.Input = RunInput{}
	create.Answers = []Answer{
		{Status: http.StatusCreated, About: "It was created", Body: telemetry.Record{}},
		{Status: http.StatusOK, About: "The same body created it before; this is how it is now", Body: telemetry.Record{}},
	}
	batch := doc("createRuns", "Create up to 1000 telemetry runs; each is taken or refused for itself")
	batch.Input, batch.Answers = BatchInput{}, []Answer{{Status: http.StatusOK, About: "What came of each", Body: BatchAnswer{}}}
	patch := doc("patchRun", "Change fields of a telemetry run")
	patch.Input, patch.Answers = RunPatch{}, []Answer{{Status: http.StatusOK, About: "As it is now", Body: telemetry.Record{}}}
	return []Route{
		{Method: http.MethodPost, Path: "/api/v1/runs", Limit: recordBody, Doc: create, Serve: t.createRun},
		{Method: http.MethodPost, Path: "/api/v1/runs/batch", Limit: batchBody, Doc: batch, Serve: t.createRuns},
		{Method: http.MethodPatch, Path: runPath, Limit: recordBody, Doc: patch, Serve: t.patchRun},
		Does(Route{Method: http.MethodGet, Path: "/api/v1/runs", Doc: list}, http.StatusOK, t.listRuns),
		Does(Route{Method: http.MethodGet, Path: runPath, Doc: doc("getRun", "Get a telemetry run")}, http.StatusOK, ofRun(t, telemetry.Store.Get)),
		Does(Route{Method: http.MethodGet, Path: runPath + "/tree",
			Doc: doc("getTree", "Get a telemetry run with its subtree, and sums")}, http.StatusOK, ofRun(t, telemetry.Store.Tree)),
		Does(Route{Method: http.MethodPost, Path: runPath + "/associate-commit",
			Doc: doc("associateCommit", "Say which commit a telemetry run became")}, http.StatusOK, t.associateCommit),
		Does(Route{Method: http.MethodGet, Path: runPath + "/commit-url",
			Doc: doc("getCommitURL", "Get the address of the run's commit at its forge")}, http.StatusOK, ofRun(t, commitURL)),
		Does(Route{Method: http.MethodGet, Path: runPath + "/repo-url",
			Doc: doc("getRepoURL", "Get the address of the run's repository at its forge")}, http.StatusOK, ofRun(t, repoURL)),
		Does(Route{Method: http.MethodGet, Path: "/api/v1/metadata",
			Doc: doc("getMetadata", "Get what there is to filter by")}, http.StatusOK, t.metadata),
	}
}

// find gives the store and the id of the path.
func (t records) find(c *Call) (store telemetry.Store, eventID string, err error) {
	if t.store == nil {
		return nil, "", notHere("telemetry")
	}
	if said := c.Param("event_id"); said != "" {
		eventID, err = telemetry.ParseEventID(said)
	}
	return t.store, eventID, err
}

func (t records) createRun(c *Call) error {
	store, _, err := t.find(c)
	if err != nil {
		return err
	}
	n, err := telemetry.ParseNew(c.Body)
	if err != nil {
		return err
	}
	results, err := store.Create(c.Context(), []telemetry.New{n})
	if err != nil {
		return err
	}
	if results[0].Err != nil {
		return results[0].Err
	}
	return c.JSON(createdStatus(results[0].Outcome), results[0].Record)
}

func createdStatus(o telemetry.Outcome) int {
	if o == telemetry.Created {
		return http.StatusCreated
	}
	return http.StatusOK
}

func (t records) createRuns(c *Call) error {
	store, _, err := t.find(c)
	if err != nil {
		return err
	}
	items, err := telemetry.ParseBatch(c.Body)
	if err != nil {
		return err
	}
	out := BatchAnswer{Results: make([]BatchResult, len(items))}
	var news []telemetry.New
	var places []int
	for i, item := range items {
		if item.Err != nil {
			out.Results[i] = refused(item.EventID, item.Err)
			continue
		}
		news, places = append(news, item.New), append(places, i)
	}
	if len(news) > 0 {
		results, err := store.Create(c.Context(), news)
		if err != nil {
			return err
		}
		for k, result := range results {
			if result.Err != nil {
				out.Results[places[k]] = refused(news[k].EventID, result.Err)
				continue
			}
			out.Results[places[k]] = BatchResult{news[k].EventID, string(result.Outcome), createdStatus(result.Outcome), nil}
		}
	}
	return c.JSON(http.StatusOK, out)
}

func refused(eventID string, err error) BatchResult {
	e := answerOf(err)
	return BatchResult{eventID, "refused", e.status, e}
}

func (t records) patchRun(c *Call) error {
	store, eventID, err := t.find(c)
	if err != nil {
		return err
	}
	p, err := telemetry.ParsePatch(c.Body)
	if err != nil {
		return err
	}
	r, err := store.Patch(c.Context(), eventID, p)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, r)
}

func (t records) listRuns(c *Call, _ None) (RunPage, error) {
	store, _, err := t.find(c)
	if err != nil {
		return RunPage{}, err
	}
	f, err := telemetry.ParseFilter(c.query)
	if err != nil {
		return RunPage{}, err
	}
	runs, next, err := store.List(c.Context(), f)
	out := RunPage{Runs: runs}
	if runs == nil {
		out.Runs = []telemetry.Record{}
	}
	if next != "" {
		out.Next = &next
	}
	return out, err
}

// ofRun answers with what the store reads of the run of the path.
func ofRun[Out any](t records, read func(telemetry.Store, context.Context, string) (Out, error)) func(*Call, None) (Out, error) {
	return func(c *Call, _ None) (out Out, err error) {
		store, eventID, err := t.find(c)
		if err != nil {
			return out, err
		}
		return read(store, c.Context(), eventID)
	}
}

func (t records) metadata(c *Call, _ None) (telemetry.Metadata, error) {
	store, _, err := t.find(c)
	if err != nil {
		return telemetry.Metadata{}, err
	}
	return store.Metadata(c.Context())
}

// associateCommit is a patch of the four fields of a commit, under shorter names.
func (t records) associateCommit(c *Call, in CommitInput) (telemetry.Record, error) {
	store, eventID, err := t.find(c)
	if err != nil {
		return telemetry.Record{}, err
	}
	if in.Hash == "" {
		return telemetry.Record{}, Refuse(http.StatusUnprocessableEntity, fault.InvalidField, "commit_hash is missing",
			Detail{Pointer: "/commit_hash", Message: "is missing"})
	}
	fields := map[string]string{"git_commit_hash": in.Hash}
	for name, value := range map[string]*string{"git_commit_source": in.Source, "git_commit_author": in.Author, "git_commit_timestamp": in.Timestamp} {
		if value != nil {
			fields[name] = *value
		}
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return telemetry.Record{}, err
	}
	p, err := telemetry.ParsePatch(body)
	if err != nil {
		e := answerOf(err)
		e.Message = "the commit does not have its form"
		for i := range e.Details {
			e.Details[i].Pointer = strings.Replace(e.Details[i].Pointer, "/git_", "/", 1)
		}
		return telemetry.Record{}, e
	}
	return store.Patch(c.Context(), eventID, p)
}

func repoURL(s telemetry.Store, ctx context.Context, eventID string) (Link, error) {
	url, _, _, err := forgeOf(s, ctx, eventID)
	return Link{url}, err
}

func commitURL(s telemetry.Store, ctx context.Context, eventID string) (Link, error) {
	url, commits, r, err := forgeOf(s, ctx, eventID)
	if err == nil && r.GitCommitHash == "" {
		err = fault.New(fault.NotFound, "the record has no commit")
	}
	return Link{url + commits + r.GitCommitHash}, err
}

// forgeOf returns the address of the repository of a run, and the path to its commits.
func forgeOf(s telemetry.Store, ctx context.Context, eventID string) (url, commits string, r telemetry.Record, err error) {
	if r, err = s.Get(ctx, eventID); err != nil {
		return "", "", r, err
	}
	url, commits, ok := forgeURL(r.GitRepo)
	if !ok {
		err = fault.New(fault.NotFound, "the record names no repository of a forge that is known")
	}
	return url, commits, r, err
}

// forges are told by their host: a part of its name says what runs there, also where
// people run it themselves. Each has its own path to a commit.
var forges = []struct{ word, commits string }{
	{"github", "/commit/"},
	{"gitlab", "/-/commit/"},
	{"gitea", "/commit/"},
	{"forgejo", "/commit/"},
	{"codeberg", "/commit/"},
}

// forgeURL returns the address of a repository in a browser, and the path to its commits,
// from the URL of a remote. Users, passwords and tokens in it are left out.
func forgeURL(remote string) (repo, commits string, ok bool) {
	scheme, host, folder := splitRemote(strings.TrimSpace(remote))
	folder = strings.TrimSuffix(strings.Trim(folder, "/"), ".git")
	if host == "" || !strings.Contains(folder, "/") || path.Clean(folder) != folder || strings.HasPrefix(folder, "..") {
		return "", "", false
	}
	for _, forge := range forges {
		if strings.Contains(strings.ToLower(host), forge.word) {
			u := url.URL{Scheme: scheme, Host: host, Path: "/" + folder}
			return u.String(), forge.commits, true
		}
	}
	return "", "", false
}

// splitRemote reads https://, http://, ssh:// and git:// URLs, and the short form
// user@host:folder of ssh.
func splitRemote(remote string) (scheme, host, folder string) {
	if strings.Contains(remote, "://") {
		u, err := url.Parse(remote)
		if err != nil || u.RawQuery != "" || u.Fragment != "" || !plainHost(u.Host) {
			return "", "", ""
		}
		switch u.Scheme {
		case "http", "https":
			return u.Scheme, u.Host, u.Path
		case "ssh", "git", "git+ssh":
			return "https", u.Hostname(), u.Path // the port is that of ssh
		}
		return "", "", ""
	}
	host, folder, found := strings.Cut(remote, ":")
	if _, after, user := strings.Cut(host, "@"); user {
		host = after
	}
	if !found || !plainHost(host) {
		return "", "", ""
	}
	return "https", host, folder
}

func plainHost(host string) bool {
	return host != "" && !strings.ContainsFunc(host, func(r rune) bool {
		return !(r == '.' || r == '-' || r == ':' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
}
