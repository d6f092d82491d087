package app_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

// link is the link to the page of a project, and what it has before its path.
func (w *world) link() (base, link string) {
	w.t.Helper()
	cmd := w.start("web")
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("web: %v %s", err, out)
	}
	link = strings.TrimSpace(string(out))
	base, _, _ = strings.Cut(link, "/login")
	return base, link
}

// names are the names of the agents that a page lists.
func (s *served) names(path string) string {
	s.t.Helper()
	var list struct{ Agents []struct{ Name string } }
	if code := s.ask("GET", path, "", &list); code != http.StatusOK {
		s.t.Fatalf("%s: %d", path, code)
	}
	var out []string
	for _, a := range list.Agents {
		out = append(out, a.Name)
	}
	return strings.Join(out, " ")
}

// All projects are at one address, and each path has its own. A project that is not open is opened when it is asked for.
func TestOneAddressForAllProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	there, third := w.in("second"), w.in("third")
	third.ramet("fork", "--name", "tri")
	site := w.serve()
	w.ramet("fork", "--name", "uno")
	base, link := there.link()
	if strings.Split(base, "/p/")[0] != strings.Split(site.base, "/p/")[0] || base == site.base {
		t.Fatalf("the pages are at %s and %s", site.base, base)
	}
	there.ramet("fork", "--name", "duo")
	two := &served{t, base, site.token}
	if one, two := site.names("/api/v1/agents"), two.names("/api/v1/agents"); !strings.Contains(one, "uno") || strings.Contains(one, "duo") || !strings.Contains(two, "duo") || strings.Contains(two, "uno") {
		t.Errorf("the agents are %q and %q", one, two)
	}
	// A path without a project means that of `ramet serve`.
	address := &served{t, strings.Split(site.base, "/p/")[0], site.token}
	if got := address.names("/api/v1/agents"); !strings.Contains(got, "uno") {
		t.Errorf("without a project: %q", got)
	}
	var list struct {
		Current  string
		Projects []struct {
			Key, Folder string
			Open        bool
		}
	}
	two.ask("GET", "/api/v1/projects", "", &list)
	if len(list.Projects) != 3 || !strings.HasSuffix(base, "/p/"+list.Current) {
		t.Fatalf("the projects: %+v", list)
	}
	last := list.Projects[2]
	if last.Folder != third.project || last.Open {
		t.Errorf("the third project: %+v", last)
	}
	if got := address.names("/p/" + last.Key + "/api/v1/agents"); !strings.Contains(got, "tri") {
		t.Errorf("the third project: %q", got)
	}
	// The link signs a browser in for all of them.
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Get(link)
	if err != nil || answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(base, address.base) || answer.Header.Get("Location") != strings.TrimPrefix(base, address.base)+"/" {
		t.Fatalf("%v %+v", err, answer)
	}
	answer.Body.Close()
	cookie := answer.Cookies()[0]
	visit := func(url string) int {
		r := testkit.Must(http.NewRequestWithContext(t.Context(), "GET", url, nil))(t)
		r.AddCookie(cookie)
		answer, err := client.Do(r)
		if err != nil {
			return 0
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	if code := visit(site.base + "/api/v1/agents"); code != http.StatusOK {
		t.Errorf("the session in the first project: %d", code)
	}
	// The page is at the same address when the kernel was killed, and the browser is signed in.
	pid := w.server().PID
	syscall.Kill(pid, syscall.SIGKILL)
	testkit.WaitUntil(t, "the page is back", func() bool { return visit(site.base+"/api/v1/agents") == http.StatusOK })
	if now := w.server(); now.PID == pid || now.URL != address.base {
		t.Errorf("it is %+v", now)
	}
	// Closed by the restart, and opened on demand.
	if code := visit(base + "/api/v1/agents"); code != http.StatusOK {
		t.Errorf("the session in the second project: %d", code)
	}
}

// What serves in the background stays until it is stopped: here by a signal, in exec-served.txtar by a command.
func TestServeInTheBackground(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RAMET_SERVER_IDLE=1s")
	base := w.background().base
	now := w.server()
	if len(now.Workspaces) != 1 || now.Workspaces[0].Keeps() != "the page is served" || !strings.HasPrefix(base, now.URL) {
		t.Errorf("%+v", now)
	}
	cmd := w.start("serve", "--addr", "127.0.0.1:1")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "error[CONFLICT]") {
		t.Errorf("at another address: %s", out)
	}
	testkit.OK(t, syscall.Kill(now.PID, syscall.SIGINT))
	testkit.WaitUntil(t, "it ends", func() bool { return !w.server().Running })
}

// The log is the user's only, and has neither a prompt nor a secret.
func TestTheLogOfTheKernel(t *testing.T) {
	t.Parallel()
	const key, password = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH", "hunter2-is-long"
	w := newWorld(t, "ANTHROPIC_API_KEY="+key, "ANTHROPIC_BASE_URL=http://127.0.0.1:9")
	cmd := w.start("--db", "postgres://me:"+password+"@127.0.0.1:9/none", "web", "--addr", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "RAMET_TEST_PATIENT=1")
	if out, err := cmd.CombinedOutput(); err == nil || strings.Contains(string(out), password) {
		t.Errorf("a database that does not answer: %v %s", err, out)
	}
	site := w.serve()
	var none json.RawMessage
	if code := site.ask("POST", "/api/v1/agents/0/prompt", `{"text":"a secret plan with `+key+`", "model":"anthropic/claude-sonnet-4-5"}`, &none); code != http.StatusAccepted {
		t.Fatalf("%d %s", code, none)
	}
	path := filepath.Join(w.home, "ramet", "server.log")
	testkit.WaitUntil(t, "the log has its lines", func() bool {
		text, _ := os.ReadFile(path)
		return strings.Contains(string(text), "cannot open the workspace") && strings.Contains(string(text), "the page is at")
	})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{key, password, "a secret plan"} {
		if strings.Contains(string(text), not) {
			t.Errorf("the log has %q: %s", not, text)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}
