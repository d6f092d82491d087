package app_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/operation/public"
	"ramet/internal/testkit"
)

const oneWord = `name: word
description: one word
states: {DRAFTING: [say]}
workers:
  say:
    prompt: say a word
    outputs: [{path: drafts/word.txt, answer: true}]
`

// Runs are started, forked, resumed and cancelled over HTTP and over MCP, as by the command line;
// they go on in processes of their own, which do not take themselves for the server that went into the background.
func TestRunsAreBegunAndEndedOverHTTPAndMCP(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	file := filepath.Join(s.dir, "word.yaml")
	testkit.OK(t, os.WriteFile(file, []byte(oneWord), 0o600))
	says := s.script(t, `{"repeat": true, "steps": [{"text": "tree"}]}`)
	gate, _ := s.pipe(t)
	waits := s.script(t, `{"repeat": true, "steps": [{"wait": "`+gate+`"}, {"text": "late"}]}`)
	web := servedAt(t, s.must(t, "serve", "--background", "--addr", "127.0.0.1:0"), filepath.Join(filepath.Dir(s.db), "home", ".local", "share", "ramet"))
	type object = map[string]any
	post := func(want int, path string, body any) (made struct {
		public.RunMade
		Code string `json:"code"`
	}) {
		t.Helper()
		text := testkit.Must(json.Marshal(body))(t)
		if status := web.ask("POST", "/api/v1/run-logs"+path, string(text), &made); status != want {
			t.Fatalf("%s %s: %d %+v", path, text, status, made)
		}
		return made
	}
	until := func(runID, status string) {
		t.Helper()
		var runs struct {
			Runs []struct {
				RunID  string `json:"run_id"`
				Status string
			}
		}
		testkit.WaitUntil(t, "run "+runID+" is "+status, func() bool {
			web.ask("GET", "/api/v1/run-logs", "", &runs)
			for _, r := range runs.Runs {
				if r.RunID == runID && r.Status == status {
					return true
				}
			}
			return false
		})
	}
	if made := post(http.StatusAccepted, "", object{"recipe": file, "run_id": "one", "model": says}); made.RunID != "one" || made.Path == "" {
		t.Fatalf("%+v", made)
	}
	until("one", "done")
	post(http.StatusCreated, "/one/fork", object{"at": "2", "run_id": "two"})
	post(http.StatusAccepted, "/two/resume", object{"model": says, "no_cache": true})
	until("two", "done")
	again := post(http.StatusConflict, "/two/resume", object{})
	for again.Code == "LOCKED" && t.Context().Err() == nil { // it is done before whoever carried it out has let go of it
		again = post(http.StatusConflict, "/two/resume", object{})
	}
	if again.Code != "ILLEGAL_TRANSITION" {
		t.Errorf("%+v", again)
	}
	post(http.StatusAccepted, "", object{"recipe": file, "run_id": "three", "model": waits, "no_cache": true})
	if made := post(http.StatusOK, "/three/cancel", object{"reason": "enough"}); made.State != "CANCELLED" {
		t.Errorf("%+v", made)
	}
	until("three", "cancelled")
	for path, body := range map[string]any{"": object{"recipe": "no-such"}, "/none/resume": object{}, "/none/cancel": object{}, "/none/fork": object{"at": "1"}} {
		if made := post(http.StatusNotFound, path, body); made.Code != "NOT_FOUND" {
			t.Errorf("%s: %+v", path, made)
		}
	}
	person := web.toolbox(web.token)
	var made public.RunMade
	person.into("run", `{"do": "fork", "id": "one", "at": "2", "run_id": "four"}`, &made)
	if made.RunID != "four" {
		t.Errorf("%+v", made)
	}
	person.into("run", `{"do": "resume", "id": "four", "model": "`+waits+`", "no_cache": true}`, &made)
	person.into("run", `{"do": "cancel", "id": "four"}`, &made)
	if made.State != "CANCELLED" {
		t.Errorf("%+v", made)
	}
	person.refused("INVALID_FIELD", "run", `{"do": "resume"}`)
	person.refused("INVALID_FIELD", "run", `{"do": "fork", "id": "one"}`)
	s.must(t, "fork", "--name", "ada")
	ada := web.toolbox(strings.TrimSpace(s.must(t, "mcp", "token", "ada")))
	for _, args := range []string{`{"do": "start", "recipe": "docs"}`, `{"do": "resume", "id": "one"}`, `{"do": "cancel", "id": "one"}`, `{"do": "fork", "id": "one", "at": "2"}`} {
		ada.refused("DENIED", "run", args)
	}
}
