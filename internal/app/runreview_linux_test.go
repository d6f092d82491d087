package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

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
