package app_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	testkit.Attack(t, "files", "write notes.txt, a link since the question")
}

// A confined command wants a host: the terminal, another program over HTTP and the command line are asked, and the
// answer is in the history.
func TestAPersonPermitsTheNetworkByName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reached := make(chan string, 10)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path }))
	defer site.Close()
	reaches := func(want string) {
		t.Helper()
		select {
		case path := <-reached:
			if path != want {
				t.Errorf("reached: %s, not %s", path, want)
			}
		default:
			t.Errorf("%s was not reached", want)
		}
	}
	_, port, _ := strings.Cut(site.Listener.Addr().String(), ":")
	get := func(when, path string) string {
		return wants(when, "curl -sSf --noproxy '' http://localhost:"+port+"/"+path)
	}
	w.script(get("one", "no"), get("", "yes"), `{"when": "", "steps": [{"text": "that is all"}]}`, get("four", "http"), `{"when": "", "steps": [{"text": "that was http"}]}`,
		get("five", "line"), `{"when": "", "steps": [{"text": "that was the command line"}]}`)
	w.ramet("config", "set", "permission", "sandbox")
	w.ramet("config", "set", "allow", "net(127.0.0.1:"+port+")") // the name leads to it
	x := w.open(110, 40)
	x.see("[0]", "script/")
	x.say("one")
	x.see("wants to use the network for curl", "localhost:"+port, "❯ No")
	x.decide("No")
	x.see("the user did not permit network to localhost:" + port)
	x.decide("Allow once")
	x.see("that is all", "[network: localhost:"+port+"]")
	x.leave()
	reaches("/yes")
	w.ramet("verify")

	server := w.background()
	answered := make(chan int, 1)
	go func() {
		defer close(answered)
		var list struct {
			Asks []struct{ ID, Tool, Subject string }
		}
		for end := time.Now().Add(patience); len(list.Asks) == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			server.ask("GET", "/api/v1/permissions", "", &list)
		}
		for _, q := range list.Asks {
			if q.Tool != "net" || q.Subject != "localhost:"+port {
				t.Errorf("%+v", q)
			}
			answered <- server.ask("POST", "/api/v1/permissions/"+q.ID, `{"answer":"once"}`, new(json.RawMessage))
		}
	}()
	w.ramet("fork", "--name", "other")
	if said, err := w.asks("permit it?", "", "exec", "other", "four"); err != nil || !strings.Contains(said, "network to localhost:"+port+", for curl") {
		t.Errorf("%v\n%s", err, said)
	}
	if status := <-answered; status != 204 {
		t.Error(status)
	}
	reaches("/http")
	if said, err := w.asks("permit it?", "agent\n", "exec", "other", "five"); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	reaches("/line")
	if out := w.ramet("mode", "other"); !strings.Contains(out, "net(localhost:"+port+") granted to ") {
		t.Errorf("mode: %q", out)
	}
	w.ramet("verify")
}
