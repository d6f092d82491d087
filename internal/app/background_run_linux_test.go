package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// A server in the background begins a run and says which: what becomes of it is told by its log. The run that it
// starts is a process of its own, and does not take itself for the server that went into the background.
func TestAServerInTheBackgroundStartsARun(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	recipe := filepath.Join(s.dir, "fails.yaml")
	testkit.OK(t, os.WriteFile(recipe, []byte("name: fails\ndescription: It fails.\nstates:\n  DRAFTING: [work]\nworkers:\n  work:\n    command: \"false\"\n    outputs: [drafts/out.txt]\n    timeout: 1m\n"), 0o600))
	base := strings.Fields(s.must(t, "serve", "--background", "--addr", "127.0.0.1:0"))[0]
	token := testkit.Must(os.ReadFile(filepath.Join(filepath.Dir(s.db), "home", ".local", "share", "ramet", "token")))(t)
	server := &served{t, base, strings.TrimSpace(string(token))}
	var made json.RawMessage
	status := server.ask("POST", "/api/v1/run-logs", `{"recipe":"`+recipe+`"}`, &made)
	var run struct {
		ID string `json:"run_id"`
	}
	if err := json.Unmarshal(made, &run); err != nil || status/100 != 2 || run.ID == "" {
		t.Fatalf("%d %s %v", status, made, err)
	}
	eventually(t, "the run fails", func() bool { return strings.Contains(s.ramet("run", "show", run.ID, "--json").stdout, `"FAILED"`) })
}
