package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/operation/public"
	"ramet/internal/testkit"
)

// wants is a line of a script: the model calls bash.
func wants(when, command string, more ...string) string {
	args := map[string]string{"command": command}
	if len(more) > 0 {
		args["outside"] = more[0]
	}
	line, _ := json.Marshal(map[string]any{"when": when, "steps": []any{map[string]any{"call": "bash", "args": args}}})
	return string(line)
}

// Who decided, from where and by which rule is in the history, and every face shows it. A terminal in the background
// notifies its user of the question.
func TestWhoDecidedIsRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "VTE_VERSION=7000")
	w.script(wants("one", "touch a"), wants("", "touch b"), wants("", "touch b"), wants("", "touch c"), wants("", "touch c"), wants("", "rm -rf a"), `{"when": "", "steps": [{"text": "that is all"}]}`)
	x := w.open(110, 40)
	x.see("[0]", "script/", "ask")
	x.press("\x1b[O") // another window is in front
	x.say("one")
	x.see("touch a")
	x.until("a notification", func(string) bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return strings.Contains(x.raw.String(), "\x1b]777;notify;ramet;")
	})
	x.press("\x1b[I")
	x.decide("Allow once")
	x.see("touch b")
	x.decide("Allow for this agent")
	x.see("touch c")
	x.decide("Always allow")
	x.see("Always allow in this project: bash(touch c)", "Enter save and allow")
	x.press(enter)
	x.see("rm -rf a", "Can't always be allowed: it is destructive or unpredictable", "it deletes")
	x.decide("No")
	x.see("that is all", "(terminal), once", "refused by", " idle ")
	x.leave()

	log := w.ramet("log", "0")
	for _, want := range []string{"(terminal), once, 20", "(terminal), for this agent and its children: bash(touch b)", "allowed by rule bash(touch b), granted by ",
		"(terminal), for this project: bash(touch c)", "allowed by rule bash(touch c) (project)", "refused by "} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	for _, format := range []string{"md", "jsonl"} {
		if out := w.ramet("export", "0", "--format", format); !strings.Contains(out, "touch c") || !strings.Contains(out, "terminal") {
			t.Errorf("%s: %s", format, out)
		}
	}
	if out := w.ramet("rules"); out != "bash(touch c)\n" {
		t.Errorf("rules: %q", out)
	}
	if out := w.ramet("mode", "0"); !strings.Contains(out, "bash(touch b) granted to ") {
		t.Errorf("mode: %q", out)
	}
	w.ramet("verify")

	// Another process asks no more for what was granted, and what no rule can be saved for
	// it asks again.
	w.stopServer() // which has read the script
	w.script(wants("two", "touch b"), wants("", "touch c"), `{"when": "", "steps": [{"text": "again"}]}`)
	y := w.open(110, 40)
	y.see("[0]", "script/")
	y.say("two")
	y.see("again", " idle ")
	y.leave()
	w.ramet("rules", "--remove", "bash(touch c)")
	if out := w.ramet("rules"); out != "no rules\n" {
		t.Errorf("rules: %q", out)
	}
}

// Turns that a server runs keep what was granted, whoever granted it: a terminal, or HTTP.
func TestServedTurnsKeepGrants(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	model := s.script(t, wants("one", "touch a"), wants("", "touch a"), wants("", "touch b"), wants("", "touch b"), wants("", "git push"), `{"when": "", "steps": [{"text": "that is all"}]}`)
	server := s.serve(t)
	turn := s.begin(t, s.command("exec", "--json", "--model", model, "0", "one"))
	type asks struct {
		Asks []struct {
			ID, Subject string
			Choices     []struct{ Choice, Rule, No string }
		}
	}
	next := func(subject string) (id string, rule, no string) {
		t.Helper()
		turn.need(t, "a question about "+subject, func(l seen) bool { return l.Type == "asking" && l.Text == subject })
		var list asks
		if server.ask("GET", "/api/v1/permissions", "", &list); len(list.Asks) != 1 || list.Asks[0].Subject != subject || len(list.Asks[0].Choices) != 5 || list.Asks[0].Choices[0].Choice != "no" {
			t.Fatalf("%+v", list)
		}
		last := list.Asks[0].Choices[4]
		return list.Asks[0].ID, last.Rule, last.No
	}
	answer := func(id, body string, status int) {
		t.Helper()
		var refused json.RawMessage
		if got := server.ask("POST", "/api/v1/permissions/"+id, body, &refused); got != status {
			t.Fatalf("%s: %d %s", body, got, refused)
		}
	}
	id, _, _ := next("touch a")
	answer(id, `{"answer":"y"}`, 422)
	answer(id, `{"answer":"agent"}`, 204) // the second call is not asked about
	id, rule, _ := next("touch b")
	if rule != "bash(touch b)" {
		t.Errorf("%q", rule)
	}
	answer(id, `{"answer":"project","rule":"bash"}`, 422) // it would permit everything
	answer(id, `{"answer":"project","rule":"bash(rm *)"}`, 422)
	answer(id, `{"answer":"project","rule":"bash(touch *)"}`, 204)
	id, rule, no := next("git push")
	if rule != "" || !strings.Contains(no, "it pushes") {
		t.Errorf("%q %q", rule, no)
	}
	answer(id, `{"answer":"project"}`, 422)
	answer(id, `{"answer":"because","words":"not on a Sunday"}`, 204)
	<-turn.over
	log := s.must(t, "log", "0")
	for _, want := range []string{"allowed by token holder (http), for this agent and its children: bash(touch a)", "allowed by rule bash(touch a), granted by token holder (http)",
		"for this project: bash(touch *)", "allowed by rule bash(touch *) (project)", "refused by token holder (http)", "not on a Sunday"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	var found public.Search
	if server.ask("GET", "/api/v1/search?q=refused+by+token&agent=0", "", &found); len(found.Found) != 1 || found.Found[0].Kind != "tool_result" || !strings.HasPrefix(found.Found[0].Around, "refused by token holder (http)") {
		t.Errorf("who refused it is not found: %+v", found)
	}
	var mode struct{ Mode string }
	if got := server.ask("POST", "/api/v1/agents/0/mode", `{"mode":"read-only"}`, &mode); got != 200 || mode.Mode != "read-only" {
		t.Errorf("%d %+v", got, mode)
	}
	if out := s.must(t, "mode", "0"); !strings.HasPrefix(out, "read-only\n") {
		t.Errorf("%q", out)
	}
	s.must(t, "verify")
}

// What the user takes back in the settings counts for the next call of a terminal that is open, whoever took it
// back; settings that cannot be read permit nothing, and the question says so.
func TestWhatIsTakenBackCountsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(wants("one", "touch a"), wants("two", "touch b"), wants("three", "touch c"), wants("four", "touch d"), wants("five", "touch e"),
		`{"when": "", "repeat": true, "steps": [{"text": "so be it"}]}`)
	w.ramet("config", "set", "allow", "bash")
	x := w.open(110, 40)
	x.see("[0]", "script/")
	x.say("one")
	x.see("allowed by rule bash (settings)", "so be it")
	x.say("/config allow bash(ls)")
	x.see("⌘ /config allow bash(ls)\n  bash(ls)\n")
	x.say("two")
	x.see("wants to run", "touch b")
	x.decide("No")
	x.see("did not permit bash (touch b)")
	w.ramet("config", "set", "allow", "bash(touch c)")
	x.say("three")
	x.see("allowed by rule bash(touch c) (settings)")
	path := strings.TrimSpace(w.ramet("config", "path"))
	good := testkit.Must(os.ReadFile(path))(t)
	w.write(path, "allow = [\"bash\"\nmodel = \n")
	x.say("four")
	x.see("wants to run", "touch d", "the settings cannot be read")
	x.decide("No")
	x.see("did not permit bash (touch d)")
	w.write(path, string(good))
	w.ramet("config", "set", "permission", "read-only")
	x.say("five")
	x.see("this agent only reads")
	for name, made := range map[string]bool{"a": true, "b": false, "c": true, "d": false, "e": false} {
		if _, err := os.Stat(filepath.Join(w.project, name)); (err == nil) != made {
			t.Errorf("%s: %v", name, err)
		}
	}
	x.say("/config steps 300")
	x.see("300\n", "keep the old value until they restart")
}

// A link that appears where a file was to be written, while the person thinks about it, is not followed: what was
// permitted is that file.
func TestAYesIsForTheFileThatWasAskedAbout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(`{"when": "go", "steps": [{"call": "write", "args": {"path": "notes.txt", "content": "evil"}}]}`, `{"when": "", "steps": [{"text": "so be it"}]}`)
	x := w.open(100, 30)
	x.see("[0]", "script/")
	x.say("go")
	x.see("wants to write", "notes.txt")
	testkit.OK(t, os.Symlink(".envrc", filepath.Join(w.project, "notes.txt")))
	x.decide("Allow once")
	x.see("What was permitted was notes.txt", "so be it")
	if _, err := os.Stat(filepath.Join(w.project, ".envrc")); err == nil {
		t.Error("another file was written")
	}
}
