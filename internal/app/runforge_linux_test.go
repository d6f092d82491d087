package app_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

const forgeToken = "t0ken-of-the-forge-5d41402abc4b2a76"

// A run is killed right after its pull request was opened, before anything could be written about it. Resumed, it
// finds the pull request and opens no second one; the token is nowhere. What forges answer is tested in internal/runner.
func TestAKillAfterThePullRequestOpensNoSecondOne(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	bare := filepath.Join(root, "ada", "greet.git")
	testkit.Git(t, "", "clone", "-q", "--bare", repository(t, greet), bare)
	e, forge := newErrand(t), testkit.NewForge(t, root, forgeToken)
	for name, value := range forge.Env("gitea") {
		e.env = append(e.env, name+"="+value)
	}
	cmd := exec.Command(e.exe, "run", "start", "--repo", forge.URL+"/ada/greet.git", "--run-id", "pr")
	cmd.Dir, cmd.Env = e.dir, e.env
	forge.After(func() bool {
		cmd.Process.Kill()
		return true
	})
	if r := outcomeOf(cmd); !r.killed {
		t.Fatalf("it was not killed: %+v", r)
	}
	forge.After(nil)
	r := e.must(0, "run", "resume", "pr")
	if forge.Posts() != 1 || strings.Contains(r.stderr, "done draft") {
		t.Errorf("%d were asked for\n%s", forge.Posts(), r.stderr)
	}

	pulls := forge.Pulls()
	if len(pulls) != 1 {
		t.Fatalf("pull requests: %+v\n%s", pulls, r.stderr)
	}
	if p := pulls[0]; p.Repo != "ada/greet" || p.Head != "ramet/docs" || p.Base != "main" || p.Title != "Documentation of greet" || p.Body == "" {
		t.Errorf("%+v", p)
	}
	url := forge.URL + "/ada/greet/pulls/1"
	if !strings.Contains(r.stdout, "pull request: "+url) {
		t.Error(r.stdout)
	}
	var made struct {
		URL    string   `json:"url"`
		Base   string   `json:"base_commit"`
		Paths  []string `json:"affected_paths"`
		Undo   []string `json:"rollback"`
		Branch string   `json:"branch"`
	}
	testkit.OK(t, json.Unmarshal([]byte(e.made("pr")["artifacts/pr.json"]), &made))
	if made.URL != url || made.Branch != "ramet/docs" || len(made.Paths) != 2 || len(made.Undo) == 0 || made.Base != testkit.Git(t, bare, "rev-parse", "main") {
		t.Errorf("%+v", made)
	}
	if n := testkit.Git(t, bare, "rev-list", "--count", "main..ramet/docs"); n != "1" {
		t.Errorf("%s commits were pushed", n)
	}

	if strings.Contains(r.stdout+r.stderr, forgeToken) {
		t.Errorf("the token was printed: %s%s", r.stdout, r.stderr)
	}
	files := 0
	err := filepath.WalkDir(filepath.Dir(e.dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // folders of items come and go
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		files++
		if bytes.Contains(data, []byte(forgeToken)) {
			t.Errorf("%s has the token", path)
		}
		return nil
	})
	if err != nil || files < 20 {
		t.Errorf("%d files were looked at: %v", files, err)
	}
}

// A review is posted below its pull request, on the forge of the repository's origin: one comment,
// whose words a later review changes. The token is nowhere.
func TestAReviewIsPostedOnTheForge(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"github", "gitea"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			repo := repository(t, map[string]string{"greet.sh": "printf ''\n"})
			testkit.OK(t, os.WriteFile(filepath.Join(repo, "greet.sh"), []byte("name=$1\necho hello $name\n"), 0o600))
			testkit.Git(t, repo, "commit", "-q", "-a", "-m", "second")
			forge := testkit.NewForge(t, t.TempDir(), forgeToken)
			forge.Add(testkit.ForgePull{Repo: "ada/greet", Head: "topic", Base: "main"})
			testkit.Git(t, repo, "remote", "add", "origin", forge.URL+"/ada/greet.git")
			e := newErrand(t)
			script := filepath.Join(t.TempDir(), "review.jsonl")
			says := func(message string) []string {
				line := `{"repeat": true, "steps": [{"text": "{\"findings\": [{\"file\": \"greet.sh\", \"line\": 2, \"rule\": \"quoting\", \"level\": \"error\", \"message\": \"` + message + `\"}]}"}]}`
				testkit.OK(t, os.WriteFile(script, []byte(line+"\n"), 0o600))
				return []string{"run", "start", "--recipe", "review", "--repo", repo, "--model", "script/" + script, "--no-cache", "--set", "pull=1"}
			}
			env := []string{"RAMET_TEST_SCRIPTS=1"}
			// Without a token nothing is said, and nothing is lost.
			if r := e.ramet(env, append(says("The name is not quoted."), "--run-id", "first")...); r.code == 0 || !strings.Contains(r.stderr, "DENIED") || !strings.Contains(r.stderr, "run resume first --from-failed") {
				t.Fatalf("%d\n%s", r.code, r.stderr)
			}
			for name, value := range forge.Env(kind) {
				env = append(env, name+"="+value)
			}
			if r := e.ramet(env, "run", "resume", "first", "--from-failed"); r.code != 0 {
				t.Fatalf("%d\n%s", r.code, r.stderr)
			}
			if r := e.ramet(env, append(says("Quote it."), "--run-id", "second")...); r.code != 0 {
				t.Fatalf("%d\n%s", r.code, r.stderr)
			}
			got := forge.Comments()
			if len(got) != 1 || got[0].Pull != 1 || !strings.Contains(got[0].Body, "**error** `greet.sh:2` (quoting): Quote it.") {
				t.Errorf("%+v", got)
			}
			if made := e.made("first")["artifacts/comment.json"]; !strings.Contains(made, `"posted": true`) || !strings.Contains(made, forge.URL+"/ada/greet/pulls/1#") {
				t.Error(made)
			}
			for name, text := range e.made("second") {
				if strings.Contains(text, forgeToken) {
					t.Errorf("the token is in %s", name)
				}
			}
		})
	}
}
