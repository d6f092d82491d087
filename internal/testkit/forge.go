package testkit

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// ForgeServer is the forge.
type ForgeServer struct {
	URL  string // without a slash at its end
	Root string // <owner>/<name>.git lie here

	mu     sync.Mutex
	token  string
	before func(w http.ResponseWriter, r *http.Request) bool
	after  func() bool
	pulls  []ForgePull
	notes  []ForgeComment
	posts  int
	heard  []string
}

// Before lets somebody see each request of an API first; true: it was answered.
func (s *ForgeServer) Before(do func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = do
}

// After is called when a pull request was opened, before the answer; true: it is lost.
func (s *ForgeServer) After(do func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = do
}

// Demand changes the token that the APIs want.
func (s *ForgeServer) Demand(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// ForgePull is a pull request.
type ForgePull struct {
	Repo, Head, Base, Title, Body, State, SHA string
	Number                                    int
}

// NewForge starts a forge that ends with the test.
func NewForge(t *testing.T, root, token string) *ForgeServer {
	t.Helper()
	out := Must(exec.Command("git", "--exec-path").Output())(t)
	s := &ForgeServer{Root: root, token: token}
	backend := &cgi.Handler{Stderr: io.Discard, Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=pusher",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.receivepack", "GIT_CONFIG_VALUE_0=true"}}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hear(r)
		if strings.HasPrefix(r.URL.Path, "/api/") {
			s.api(w, r)
			return
		}
		if _, password, _ := r.BasicAuth(); password != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Env are the variables that name it as a forge of the kind github or gitea.
func (s *ForgeServer) Env(kind string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind == "github" {
		return map[string]string{"GITHUB_TOKEN": s.token, "GITHUB_API_URL": s.URL + "/api/v3"}
	}
	return map[string]string{"GITEA_TOKEN": s.token, "GITEA_URL": s.URL}
}

func (s *ForgeServer) hear(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, r.Method+" "+r.URL.String())
}

// Heard are all requests, as method and address.
func (s *ForgeServer) Heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.heard)
}

// Posts returns the number of requests to open a pull request.
func (s *ForgeServer) Posts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.posts
}

// Pulls are the pull requests.
func (s *ForgeServer) Pulls() []ForgePull {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.pulls)
}

// Add opens one as somebody else would.
func (s *ForgeServer) Add(p ForgePull) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Number = len(s.pulls) + 1
	s.pulls = append(s.pulls, p)
}

func (s *ForgeServer) api(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	before, token := s.before, s.token
	s.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	github := strings.HasPrefix(r.URL.Path, "/api/v3/")
	want := map[bool]string{true: "Bearer ", false: "token "}[github] + token
	if r.Header.Get("Authorization") != want {
		say(w, http.StatusUnauthorized, "Bad credentials")
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) > 6 && parts[2] == "repos" && parts[5] == "issues" {
		s.discuss(w, r, parts[3]+"/"+parts[4], parts[6:], github)
		return
	}
	if len(parts) != 6 || parts[2] != "repos" || parts[5] != "pulls" {
		say(w, http.StatusNotFound, "Not Found")
		return
	}
	repo := parts[3] + "/" + parts[4]
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
		s.list(w, r, repo, github)
	case http.MethodPost:
		s.open(w, r, repo, github)
	default:
		say(w, http.StatusMethodNotAllowed, "no")
	}
}

func (s *ForgeServer) list(w http.ResponseWriter, r *http.Request, repo string, github bool) {
	q := r.URL.Query()
	var found []map[string]any
	for _, p := range slices.Backward(s.pulls) {
		state := p.State
		if state == "" {
			state = "open"
		}
		fits := p.Repo == repo && (state == q.Get("state") || q.Get("state") == "all")
		if github { // which looks for branches itself
			fits = fits && q.Get("head") == strings.Split(repo, "/")[0]+":"+p.Head && q.Get("base") == p.Base
		}
		if fits {
			found = append(found, s.show(p))
		}
	}
	size, page := 10, 1 // fewer than anybody asks for
	if n, err := strconv.Atoi(q.Get("page")); err == nil {
		page = n
	}
	from := min(len(found), (page-1)*size)
	answer(w, http.StatusOK, append([]map[string]any{}, found[from:min(len(found), from+size)]...))
}

func (s *ForgeServer) open(w http.ResponseWriter, r *http.Request, repo string, github bool) {
	s.posts++
	var p ForgePull
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil || p.Head == "" || p.Base == "" || p.Title == "" {
		say(w, http.StatusUnprocessableEntity, "Validation Failed")
		return
	}
	for _, have := range s.pulls {
		if have.Repo == repo && have.Head == p.Head && have.Base == p.Base && have.State == "" {
			if github {
				answer(w, http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed", "errors": []any{map[string]string{"message": "A pull request already exists for " + p.Head}}})
			} else {
				say(w, http.StatusConflict, "pull request already exists for these targets")
			}
			return
		}
	}
	out, err := exec.Command("git", "-C", filepath.Join(s.Root, repo+".git"), "rev-parse", "--verify", "refs/heads/"+p.Head).Output()
	if err != nil && s.Root != "" {
		say(w, map[bool]int{true: 422, false: 404}[github], "the branch does not exist")
		return
	}
	p.Repo, p.Number, p.SHA, p.State = repo, len(s.pulls)+1, strings.TrimSpace(string(out)), ""
	s.pulls = append(s.pulls, p)
	if s.after != nil && s.after() {
		panic(http.ErrAbortHandler)
	}
	answer(w, http.StatusCreated, s.show(p))
}

func (s *ForgeServer) show(p ForgePull) map[string]any {
	state := p.State
	if state == "" {
		state = "open"
	}
	side := func(ref, sha string) map[string]any {
		return map[string]any{"ref": ref, "sha": sha, "label": ref, "repo": map[string]any{"full_name": p.Repo}}
	}
	return map[string]any{"number": p.Number, "state": state, "title": p.Title, "html_url": fmt.Sprintf("%s/%s/pulls/%d", s.URL, p.Repo, p.Number),
		"head": side(p.Head, p.SHA), "base": side(p.Base, "")}
}

func say(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]string{"message": message})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}
