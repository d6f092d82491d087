package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ramet/internal/run/recipe"
	"ramet/internal/testkit"
)

// Drafts that are wrong, by a model that says what a script tells it to.

// overviewOnly is the docs recipe with one section.
func overviewOnly(t *testing.T, e *errand) string {
	t.Helper()
	text := testkit.Must(recipe.LoadEmbedded("docs"))(t)
	cut := regexp.MustCompile(`(?s)\n  guide:\n.*?\nstates:`).ReplaceAllString(string(text), "\n\nstates:")
	return e.file(t, "overview.yaml", cut)
}

func (e *errand) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(e.dir), name)
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// script is a model: each line is a reply to requests that hold a text.
type script []string

func (s *script) on(when string, repeat bool, step map[string]any) {
	line, err := json.Marshal(map[string]any{"when": when, "repeat": repeat, "steps": []any{step}})
	if err != nil {
		panic(err)
	}
	*s = append(*s, string(line))
}

func call(tool string, args map[string]any) map[string]any {
	return map[string]any{"call": tool, "args": args}
}

func says(text string) map[string]any { return map[string]any{"text": text} }

// drafting is a model whose draft of the page is that text.
func drafting(body string) *script {
	s := &script{}
	page := "# greet\n\nGreets people. <!-- cite: README.md:3 -->\n\n" + body + "\n"
	s.on("Draft the section", true, call("write", map[string]any{"path": "ramet-drafts/overview.md", "content": page}))
	return s
}

// start carries out the recipe with that model.
func (s *script) start(t *testing.T, e *errand, repo, name string, more ...string) outcome {
	t.Helper()
	s.on("", true, says("done"))
	path := e.file(t, name+".jsonl", strings.Join(*s, "\n")+"\n")
	overview := overviewOnly(t, e)
	more = append(more, accepting(t, overview)...)
	args := append([]string{"run", "start", "--recipe", overview, "--repo", repo, "--run-id", name, "--model", "script/" + path, "--no-cache"}, more...)
	return e.ramet([]string{"RAMET_TEST_SCRIPTS=1"}, args...)
}

func TestABrokenLinkIsMended(t *testing.T) {
	t.Parallel()
	e := newErrand(t)
	s := drafting("See [more](missing.md) and greet people. <!-- cite: README.md:3 -->")
	s.on("Mend one issue", true, call("read", map[string]any{"path": "ramet-drafts/overview.md"}))
	s.on("(missing.md)", true, call("edit", map[string]any{"path": "ramet-drafts/overview.md", "old_string": "[more](missing.md)", "new_string": "more"}))
	r := s.start(t, e, repository(t, greet), "mended")
	if r.code != 0 || !strings.Contains(r.stderr, "state FIXING") || !strings.Contains(r.stderr, "issue evidence: error: FACT_ADDRESS: ") || !strings.HasPrefix(r.stdout, "run mended is DONE") {
		t.Fatalf("%d\n%s", r.code, r.stderr)
	}
	if patch := e.made("mended")["artifacts/docs.patch"]; !strings.Contains(patch, "+See more and greet people.") || strings.Contains(patch, "missing.md") || strings.Contains(patch, "cite") {
		t.Error(patch)
	}
	if shown := e.must(0, "run", "show", "mended", "--json").stdout; !strings.Contains(shown, `"status": "RESOLVED"`) || strings.Contains(shown, `"status": "OPEN"`) {
		t.Errorf("%.600s", shown)
	}
	e.needNeutral("mended")
	e.must(0, "run", "verify", "mended")
}

// What nobody mends ends the run, after as many attempts as there may be; nothing is published. Which drafts have
// which issues is tested in recipes/docs.
func TestDraftsThatNobodyMends(t *testing.T) {
	t.Parallel()
	const key = "ghp_" + "q7Zp2LmVb9Kc8Ws5Yt3FdR6nXhJ4gT1uEoA0"
	for name, c := range map[string]struct {
		draft *script
		code  string
	}{
		"moon":   {drafting("Quantum encryption on the moon since version 99.7. <!-- cite: README.md:3 -->"), "FACT_NUMBER"},
		"secret": {drafting("Set `GITHUB_TOKEN=" + key + "` first. <!-- cite: README.md:3 -->"), "FACT_CODE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newErrand(t)
			r := c.draft.start(t, e, repository(t, greet), name)
			if r.code != 1 || !strings.Contains(r.stderr, "error[NO_PROGRESS]: gate ") || !strings.Contains(r.stderr, "(3 attempts to mend it)") || !strings.Contains(r.stderr, "issue evidence: error: "+c.code+": ") {
				t.Fatalf("%d\n%s", r.code, r.stderr)
			}
			if strings.Contains(r.stderr, key) {
				t.Error("the secret is shown")
			}
			if _, there := e.made(name)["artifacts/pr.json"]; there {
				t.Error("it was published")
			}
			shown := e.must(0, "run", "show", name, "--json").stdout
			if !strings.Contains(shown, `"run_state": "FAILED"`) || !strings.Contains(shown, `"code": "NO_PROGRESS"`) || !strings.Contains(shown, `"error_code": "`+c.code+`"`) || strings.Contains(shown, key) {
				t.Errorf("%.600s", shown)
			}
			if log := e.must(0, "run", "events", name, "--json").stdout; strings.Contains(log, key) {
				t.Error("the secret is in the log")
			}
			e.must(4, "run", "resume", name)
		})
	}
}

// A judge reads each statement with its lines. What it denies is mended, and judged again; without one
// nobody is asked.
func TestAJudgeReadsStatements(t *testing.T) {
	t.Parallel()
	e := newErrand(t)
	s := drafting("It is people who greet. <!-- cite: README.md:3 -->")
	verdict := func(second string) map[string]any {
		return says(`{"verdicts": [{"id": 1, "holds": true, "why": ""}` + second + `]}`)
	}
	s.on(`"statement": "It is people who greet."`, true, verdict(`, {"id": 2, "holds": false, "why": "the lines say that people are greeted"}`))
	s.on("Judge statements", true, verdict(""))
	s.on("Mend one issue", true, call("read", map[string]any{"path": "ramet-drafts/overview.md"}))
	s.on("It is people who greet", true, call("edit", map[string]any{"path": "ramet-drafts/overview.md", "old_string": "It is people who greet. <!-- cite: README.md:3 -->\n", "new_string": ""}))
	judge := "judge=script/" + filepath.Join(filepath.Dir(e.dir), "judged.jsonl")
	r := s.start(t, e, repository(t, greet), "judged", "--set", judge)
	if r.code != 0 || !strings.Contains(r.stderr, `issue evidence: error: JUDGE_DENIED: the cited lines do not say this: the lines say that people are greeted ("It is people who greet.")`) {
		t.Fatalf("%d\n%s", r.code, r.stderr)
	}
	if patch := e.made("judged")["artifacts/docs.patch"]; strings.Contains(patch, "people who greet") || !strings.Contains(patch, "+Greets people.") {
		t.Error(patch)
	}
	if r := s.start(t, e, repository(t, greet), "unjudged"); r.code != 0 || strings.Contains(r.stderr, "judge") {
		t.Errorf("%d\n%s", r.code, r.stderr)
	}
	e.must(2, "run", "start", "--repo", repository(t, greet), "--set", "judge=somebody", "--run-id", "never")
}
