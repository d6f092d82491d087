package app_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"ramet/internal/testkit"
)

// Pull requests through the real binary, with a forge on this machine that answers as it
// is told to. However it answers: one pull request, and the token is nowhere.

const forgeToken = "t0ken-of-the-forge-5d41402abc4b2a76"

// hosted is a run over a repository that a forge has.
type hosted struct {
	*errand
	forge *testkit.ForgeServer
	repo  string
	env   []string
}

func onForge(t *testing.T, kind string) *hosted {
	t.Helper()
	root := t.TempDir()
	git(t, "", "clone", "-q", "--bare", repository(t, greet), filepath.Join(root, "ada", "greet.git"))
	h := &hosted{errand: newErrand(t), forge: testkit.NewForge(t, root, forgeToken)}
	h.repo = h.forge.URL + "/ada/greet.git"
	for name, value := range h.forge.Env(kind) {
		h.env = append(h.env, name+"="+value)
	}
	return h
}

func (h *hosted) start() ended {
	return h.ramet(h.env, "run", "start", "--repo", h.repo, "--run-id", "pr")
}

func (h *hosted) resume(flags ...string) ended {
	return h.ramet(h.env, append([]string{"run", "resume", "pr"}, flags...)...)
}

// opened demands exactly one pull request, the right one, and no trace of the token.
func (h *hosted) opened(r ended) {
	h.t.Helper()
	pulls := h.forge.Pulls()
	if r.code != 0 || len(pulls) != 1 {
		h.t.Fatalf("exit code %d, pull requests: %+v\n%s", r.code, pulls, r.errs)
	}
	p := pulls[0]
	if p.Repo != "ada/greet" || p.Head != "ramet/docs" || p.Base != "main" || p.Title != "Documentation of greet" || p.Body == "" {
		h.t.Errorf("%+v", p)
	}
	url := h.forge.URL + "/ada/greet/pulls/1"
	if !strings.Contains(r.out, "pull request: "+url) {
		h.t.Errorf("%s", r.out)
	}
	var made struct {
		URL    string   `json:"url"`
		Base   string   `json:"base_commit"`
		Paths  []string `json:"affected_paths"`
		Undo   []string `json:"rollback"`
		Branch string   `json:"branch"`
	}
	bare := filepath.Join(h.forge.Root, "ada", "greet.git")
	if err := json.Unmarshal([]byte(h.made("pr")["artifacts/pr.json"]), &made); err != nil {
		h.t.Fatal(err)
	}
	if made.URL != url || made.Branch != "ramet/docs" || len(made.Paths) != 2 || len(made.Undo) == 0 || made.Base != git(h.t, bare, "rev-parse", "main") {
		h.t.Errorf("%+v", made)
	}
	if n := git(h.t, bare, "rev-list", "--count", "main..ramet/docs"); n != "1" {
		h.t.Errorf("%s commits were pushed", n)
	}
	h.untold(r)
}

// untold looks for the token in all that the run left, and said.
func (h *hosted) untold(all ...ended) {
	h.t.Helper()
	for _, r := range all {
		if strings.Contains(r.out+r.errs, forgeToken) {
			h.t.Errorf("the token was printed: %s%s", r.out, r.errs)
		}
	}
	files := 0
	err := filepath.WalkDir(filepath.Dir(h.dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // folders of items come and go
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		files++
		if bytes.Contains(data, []byte(forgeToken)) {
			h.t.Errorf("%s has the token", path)
		}
		return nil
	})
	if err != nil || files < 20 {
		h.t.Errorf("%d files were looked at: %v", files, err)
	}
}

func TestAPullRequestIsOpened(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"gitea", "github"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := onForge(t, kind)
			h.opened(h.start())
			if h.forge.Posts() != 1 {
				t.Errorf("%d were asked for", h.forge.Posts())
			}
		})
	}
}

// answering lets the forge answer the first posts with a status.
func (h *hosted) answering(status, times int) *atomic.Int64 {
	var n atomic.Int64
	h.forge.Before(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || n.Add(1) > int64(times) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		w.Write([]byte(`{"message":"no, says the forge"}`))
		return true
	})
	return &n
}

// A forge that refuses ends the run with its reason; later the run resumes where it was. What each status means is
// tested in internal/runner/forge.
func TestAForgeThatRefuses(t *testing.T) {
	t.Parallel()
	h := onForge(t, "gitea")
	h.answering(401, 1000)
	r := h.start()
	if r.code != 7 || !strings.Contains(r.errs, "error[DENIED]: ") {
		t.Fatalf("%d\n%s", r.code, r.errs)
	}
	h.untold(r)
	if shown := h.must(0, "run", "show", "pr", "--json").out; !strings.Contains(shown, `"run_state": "FAILED"`) || len(h.forge.Pulls()) != 0 {
		t.Errorf("%.300s", shown)
	}
	h.forge.Before(nil)
	r = h.resume("--from-failed")
	if strings.Contains(r.errs, "done draft") || strings.Contains(r.errs, "done clone") {
		t.Errorf("work was done again:\n%s", r.errs)
	}
	h.opened(r)
}

// Killed right after it was opened, before anything could be written about it.
func TestAKillAfterThePullRequestOpensNoSecondOne(t *testing.T) {
	t.Parallel()
	h := onForge(t, "gitea")
	cmd := exec.Command(h.exe, "run", "start", "--repo", h.repo, "--run-id", "pr")
	cmd.Dir, cmd.Env = h.dir, append(h.errand.env, h.env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	h.forge.After(func() bool {
		cmd.Process.Kill()
		return true
	})
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.Exited() {
		t.Fatalf("it was not killed: %v\n%s", err, errs.String())
	}
	h.forge.After(nil)
	r := h.resume()
	h.opened(r)
	if h.forge.Posts() != 1 || strings.Contains(r.errs, "done draft") {
		t.Errorf("%d were asked for\n%s", h.forge.Posts(), r.errs)
	}
}
