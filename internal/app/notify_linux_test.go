package app_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Told in the terminal, by a command of the user's and by hooks of both kinds: an agent that asks, ends or fails
// while the terminal is not in front. And a prompt by its name is the same in the terminal and over HTTP.
func TestWhoLooksElsewhereIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "VTE_VERSION=7000")
	for file, text := range map[string]string{
		".config/ramet/config.toml": `notify_command = "echo $RAMET_MESSAGE >> $HOME/told"
[[hooks]]
event = "Notification"
matcher = "permission_prompt"
command = "cat > $HOME/ours"
[[hooks]]
event = "Notification"
matcher = "elicitation_dialog"
command = "touch $HOME/other"
`,
		".claude/settings.json":     `{"hooks": {"Notification": [{"hooks": [{"type": "command", "command": "cat > $HOME/theirs"}]}]}}`,
		".claude/commands/greet.md": "Say $1 politely.",
	} {
		file = filepath.Join(w.home, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		w.write(file, text)
	}
	w.script(`{"when": "Say hello politely", "steps": [{"text": "good day"}]}`, `{"when": "Say web politely", "steps": [{"text": "good page"}]}`,
		wants("go", "touch made"), `{"when": "", "steps": [{"text": "so be it"}]}`)
	x := w.open(100, 30)
	x.see("[0]", "script/")
	x.say("/gret hello")
	x.see("unknown command /gret", "did you mean /greet?")
	x.press("\x15") // ^U
	x.say("/greet hello")
	x.see("good day", " idle ")
	if x.wrote("\x1b]777;") {
		t.Error("who looks is told")
	}
	x.press("\x1b[O") // another window is in front
	x.say("go")
	x.see("wants to run", "touch made")
	x.writes("\x1b]777;notify;ramet;", "needs approval: touch made")
	x.press("\x1b[I")
	x.decide("No")
	x.see("so be it", " idle ")
	x.press("\x1b[O")
	x.say("fail, there is nothing left to say")
	x.writes("failed: ")
	w.holds("ours", `"hook_event_name":"Notification"`, `"notification_type":"permission_prompt"`, `touch made`)
	w.holds("theirs", `"hook_event_name":"Notification"`, `"message":"Agent `, `needs your permission for `)
	w.holds("told", "needs approval: touch made", "failed: ")
	if _, err := os.Stat(filepath.Join(w.home, "other")); err == nil {
		t.Error("a hook ran that another kind is for")
	}
	eventually(t, "both firings are entries", func() bool { return strings.Count(w.ramet("log", "--own", "--json"), `"event":"Notification"`) == 2 })
	x.leave()

	server := w.serve()
	for _, c := range [][2]string{{"prompt", `{"text":"/gret web"}`}, {"fork", `{"prompt":"/gret web"}`}} {
		var answer json.RawMessage
		if code := server.ask("POST", "/api/v1/agents/0/"+c[0], c[1], &answer); code != http.StatusBadRequest || !bytes.Contains(answer, []byte("unknown command /gret")) || !bytes.Contains(answer, []byte("did you mean /greet?")) {
			t.Errorf("%s: %d %s", c[0], code, answer)
		}
	}
	if code := server.ask("POST", "/api/v1/agents/0/prompt", `{"text":"/greet web"}`, new(any)); code != http.StatusAccepted {
		t.Errorf("%d", code)
	}
	eventually(t, "the answer", func() bool {
		var messages json.RawMessage
		server.ask("GET", "/api/v1/agents/0/messages", "", &messages)
		return bytes.Contains(messages, []byte("good page"))
	})
}

// wrote says whether the terminal was written something.
func (t *terminal) wrote(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.raw.Bytes(), []byte(what))
}

// writes waits until the terminal was written texts, wherever they stand.
func (t *terminal) writes(texts ...string) {
	t.t.Helper()
	for _, what := range texts {
		eventually(t.t, "written: "+what, func() bool { return t.wrote(what) })
	}
}

// holds waits until a file of the home holds texts.
func (w *world) holds(file string, texts ...string) {
	w.t.Helper()
	for _, want := range texts {
		eventually(w.t, file+" holds "+want, func() bool {
			data, _ := os.ReadFile(filepath.Join(w.home, file))
			return bytes.Contains(data, []byte(want))
		})
	}
}
