package app_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A model asks its user something, at a terminal: the choices are offered with "no answer"
// first, words of one's own have a place, and who answered stands in the history. A plan is
// shown as a list.
func TestAModelAsksAtTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(`{"when": "begin", "steps": [{"call": "plan", "args": {"steps": [{"step": "look around", "state": "done"}, {"step": "choose", "state": "doing"}, {"step": "build", "state": "open"}]}}, {"call": "ask", "args": {"question": "Which database?", "choices": ["SQLite", "PostgreSQL"]}}]}`,
		`{"when": "The user chose: PostgreSQL", "steps": [{"call": "ask", "args": {"question": "And which port?"}}]}`,
		`{"when": "The user says: the usual one", "steps": [{"call": "ask", "args": {"question": "Anything else?", "choices": ["no"]}}]}`,
		`{"when": "The user gave no answer", "steps": [{"text": "so it is"}]}`)
	x := w.open(110, 40)
	x.see("[0]", "script/")
	x.say("begin")
	x.see("☑ look around", "▶ choose", "☐ build", "0 asks", "Which database?", "❯ no answer", "SQLite", "PostgreSQL")
	x.decide("PostgreSQL")
	x.see("And which port?", "in other words")
	x.decide("in other words")
	x.see("Your answer: ")
	x.press("the usual one")
	x.see("Your answer: the usual one")
	x.press(enter)
	x.see("Anything else?")
	x.decide("no answer")
	x.see("so it is", " idle ")
	x.leave()
	log := w.ramet("log", "0", "--json")
	for _, want := range []string{"The user chose: PostgreSQL", `"face":"terminal"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	w.ramet("verify")
}

// The same over HTTP.
func TestAModelAsksOverHTTP(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	model := s.script(t, `{"when": "begin", "steps": [{"call": "ask", "args": {"question": "Which database?", "choices": ["SQLite", "PostgreSQL"]}}]}`,
		`{"when": "The user chose: PostgreSQL", "steps": [{"text": "so it is"}]}`)
	server := s.serve(t)
	turn := s.begin(t, s.command("exec", "--json", "--model", model, "0", "begin"))
	turn.need(t, "a question", func(l seen) bool { return l.Type == "asking" && l.Text == "Which database?" })
	var list struct {
		Asks []struct {
			ID, Subject, Tool string
			Choices           []struct{ Choice, Text string }
			Always            []string
		}
	}
	if server.ask("GET", "/api/v1/permissions", "", &list); len(list.Asks) != 1 || list.Asks[0].Tool != "ask" || list.Asks[0].Subject != "Which database?" ||
		len(list.Asks[0].Choices) != 4 || list.Asks[0].Choices[0].Choice != "no" || list.Asks[0].Choices[3].Text != "PostgreSQL" || len(list.Asks[0].Always) != 0 {
		t.Fatalf("%+v", list)
	}
	for body, status := range map[string]int{`{"answer":"once"}`: 422, `{"answer":"project"}`: 422, `{"answer":"3"}`: 422, `{"answer":"0"}`: 422, `{"answer":"02"}`: 422, `{"answer":"because"}`: 422} {
		var refused json.RawMessage
		if got := server.tell("/api/v1/permissions/"+list.Asks[0].ID, body, &refused); got != status {
			t.Errorf("%s: %d %s", body, got, refused)
		}
	}
	var none json.RawMessage
	if got := server.tell("/api/v1/permissions/"+list.Asks[0].ID, `{"answer":"2"}`, &none); got != 204 {
		t.Fatal(got)
	}
	<-turn.over
	if log := s.must(t, "log", "0"); !strings.Contains(log, "so it is") {
		t.Error(log)
	}
	s.must(t, "verify")
}

// A command in the background of an agent at a terminal outlives its turn; another process's
// ps shows it; Esc in a later turn ends it, and so does the end of the background kernel.
func TestCommandsInTheBackgroundAtTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	serve := func(lock string) string {
		return `{"call": "bash", "args": {"command": "flock ` + lock + ` sh -c 'echo ready; sleep 1000'", "background": true}}`
	}
	w.script(`{"when": "one", "steps": [`+serve("one.lock")+`]}`, `{"when": "Command 1 runs", "steps": [{"text": "job started"}]}`,
		`{"when": "two", "steps": [{"call": "bash", "args": {"command": "sleep 1000"}}]}`,
		`{"when": "three", "steps": [`+serve("three.lock")+`]}`, `{"when": "Command 2 runs", "steps": [{"text": "it runs again"}]}`)
	free := func(lock string) bool {
		return exec.Command("flock", "-n", filepath.Join(w.project, lock), "true").Run() == nil
	}
	w.ramet("config", "set", "allow", "bash")
	x := w.open(110, 40)
	x.see("[0]", "script/")
	x.say("one")
	x.see("job started", " idle ")
	if free("one.lock") {
		t.Error("it did not outlive its turn")
	}
	if out := w.ramet("ps"); !strings.Contains(out, "in the background: 1 flock one.lock") {
		t.Errorf("ps: %s", out)
	}
	if out := w.ramet("show", "0", "--json"); !strings.Contains(out, `"commands": "1 flock one.lock`) {
		t.Errorf("show: %s", out)
	}
	x.say("two")
	x.see("runs bash")
	x.press(escape)
	x.see("Interrupted. Press Enter to resume", " interrupted ")
	if !free("one.lock") {
		t.Error("it outlived the stop")
	}
	x.say("three")
	x.see("it runs again", " idle ")
	if free("three.lock") {
		t.Error("it did not outlive its turn")
	}
	x.leave()
	if free("three.lock") {
		t.Error("it ended with the terminal")
	}
	w.stopServer()
	if !free("three.lock") {
		t.Error("it outlived the background kernel")
	}
	w.ramet("verify")
}

// A file that is dropped on the terminal becomes a mention, and its picture goes along.
func TestAPictureIsDroppedOnTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.project, "my shot.png")
	if err := os.WriteFile(path, picture.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	w.script(`{"when": "", "steps": [{"text": "a grey square"}]}`)
	x := w.open(160, 30)
	x.see("[0]", "script/")
	x.press("\x1b[200~'" + path + "'\x1b[201~")
	x.see(`my shot.png"`)
	x.say("what is it")
	x.see("a grey square", "[image my shot.png, image/png", " idle ")
	x.leave()
	if log := w.ramet("log", "0", "--json"); !strings.Contains(log, `"type":"image"`) {
		t.Error(log)
	}
	w.ramet("verify")
}
