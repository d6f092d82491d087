package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"net/http"

	"ramet/internal/launch/sandbox"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

func names(l List) []string {
	var out []string
	for _, d := range l.Tools {
		out = append(out, d.Name)
	}
	return out
}

func TestAServerIsStartedWhenItIsNeededAndOnce(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p := served(t, "good", func(s *Server) { s.Env = append(s.Env, "MCP_TEST_LOG="+log) })
	l := ask(t, p)
	if !slices.Contains(names(l), "srv__echo") || len(l.Notes) > 0 {
		t.Fatalf("%+v", l)
	}
	var work sync.WaitGroup
	for i := range 20 {
		work.Go(func() {
			if r := call(t, p, "echo", fmt.Sprintf(`{"text": "%d"}`, i)); r.Outcome != Done || r.Text != fmt.Sprintf("echo: %d", i) {
				t.Errorf("%+v", r)
			}
		})
	}
	work.Wait()
	if said, _ := os.ReadFile(log); string(said) != "started\n" {
		t.Errorf("it was started: %q", said)
	}
	// Another pool knows the tools without asking.
	again := &Pool{Servers: p.Servers, Cache: p.Cache}
	defer again.Close()
	if lists, why := again.Lists(t.Context(), time.Minute); len(lists) != 1 || len(why) > 0 || len(lists[0].Tools) != len(l.Tools) || again.Running("srv") {
		t.Errorf("%+v %v", lists, why)
	}
	if r, err := again.Call(t.Context(), "srv", "echo", json.RawMessage(`{"text":"x"}`)); err != nil || r.Text != "echo: x" || !again.Running("srv") {
		t.Errorf("%+v %v", r, err)
	}
	// One that is started otherwise is another.
	p.Servers[0].Command = append(p.Servers[0].Command, "more")
	if _, ok := (&Pool{Servers: p.Servers, Cache: p.Cache}).Known("srv"); ok {
		t.Error("its tools are taken for those of the other")
	}
}

func TestACrashInACallSaysThatTheOutcomeIsUnknown(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p := served(t, "good")
	r := call(t, p, "die", `{"text": "`+log+`"}`)
	if r.Outcome != Unknown || !strings.Contains(r.Text, "outcome is unknown") || !strings.Contains(r.Text, "signal 9") || !strings.Contains(r.Text, "goodbye") {
		t.Errorf("%+v", r)
	}
	if said, _ := os.ReadFile(log); string(said) != "died\n" {
		t.Errorf("it was repeated: %q", said)
	}
	if r := call(t, p, "echo", `{"text": "again"}`); r.Text != "echo: again" {
		t.Errorf("after that: %+v", r)
	}
	for range mostStarts {
		r = call(t, p, "die", `{"text": "`+log+`"}`)
	}
	if r.Outcome != Refused || !strings.Contains(r.Text, "it is not started again for a while") {
		t.Errorf("at last: %+v", r)
	}
	if said, _ := os.ReadFile(log); strings.Count(string(said), "died") != mostStarts {
		t.Errorf("it died %q", said)
	}
}

// An answer that cannot be read is told as one: the server is there, and what it did is done.
func TestAnAnswerThatCannotBeRead(t *testing.T) {
	p := served(t, "garbled")
	for range mostStarts + 1 { // it is not started anew each time
		if r := call(t, p, "go", `{}`); r.Outcome != Unknown || !strings.Contains(r.Text, "srv answered, and what it says cannot be read") || !strings.Contains(r.Text, "base64") {
			t.Fatalf("%+v", r)
		}
	}
}

func TestAnswers(t *testing.T) {
	p := served(t, "good")
	if r := call(t, p, "fail", ``); r.Outcome != Failed || !strings.Contains(r.Text, "it is raining") {
		t.Errorf("%+v", r)
	}
	if r := call(t, p, "picture", `{}`); r.Text != "[image image/png, 3 bytes]" || r.Image == nil || string(r.Image.Data) != "png" {
		t.Errorf("%+v", r)
	}
	if r := call(t, p, "long", `{}`); len(r.Text) > mostAnswer+100 || !strings.Contains(r.Text, "bytes are left out here") {
		t.Errorf("%d bytes", len(r.Text))
	}
	if r := call(t, p, "nobody", `{}`); r.Outcome != Failed {
		t.Errorf("%+v", r)
	}
	if r := call(t, p, "echo", `{"wrong": 1}`); r.Outcome != Failed {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	begun := filepath.Join(t.TempDir(), "begun")
	ended := make(chan error)
	go func() {
		_, err := p.Call(ctx, "srv", "sleep", json.RawMessage(fmt.Sprintf(`{"text": %q}`, begun)))
		ended <- err
	}()
	testkit.WaitUntil(t, "the call has begun", func() bool {
		_, err := os.Stat(begun)
		return err == nil
	})
	cancel()
	if err := <-ended; err == nil {
		t.Error("the call was not stopped")
	}
	if r := call(t, p, "echo", `{"text":"still"}`); r.Text != "echo: still" {
		t.Errorf("after a call that was stopped: %+v", r)
	}
}

func TestACallThatTakesTooLong(t *testing.T) {
	p := served(t, "good", func(s *Server) { s.Timeout = time.Nanosecond }) // of the call alone: connecting has its own
	if r := call(t, p, "sleep", `{}`); r.Outcome != Unknown || !strings.Contains(r.Text, "did not answer within 1ns") {
		t.Errorf("%+v", r)
	}
}

func TestNobodySeesWhatItWasNotGiven(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-hunter2")
	p := served(t, "good")
	if r := call(t, p, "env", `{}`); strings.Contains(r.Text, "hunter2") || !strings.Contains(r.Text, role) {
		t.Errorf("%+v", r)
	}
}

func TestAConfinedServerWritesWhereItMay(t *testing.T) {
	mine, other := t.TempDir(), t.TempDir()
	p := served(t, "good", func(s *Server) { s.Box = &sandbox.Box{Write: []string{mine}, Network: true} })
	if r := call(t, p, "write", fmt.Sprintf(`{"text": %q}`, filepath.Join(mine, "x"))); !strings.Contains(r.Text, "<nil>") {
		t.Errorf("%+v", r)
	}
	call(t, p, "write", fmt.Sprintf(`{"text": %q}`, filepath.Join(other, "x")))
	if _, err := os.Stat(filepath.Join(other, "x")); err == nil {
		t.Error("it wrote elsewhere")
	}
}

func TestAnIdleServerIsStopped(t *testing.T) {
	p := served(t, "good")
	p.Idle = time.Millisecond
	call(t, p, "echo", `{"text":"x"}`)
	testkit.WaitUntil(t, "the server is stopped", func() bool { return !p.Running("srv") })
	if r := call(t, p, "echo", `{"text":"y"}`); r.Text != "echo: y" {
		t.Errorf("%+v", r)
	}
}

func TestBadServers(t *testing.T) {
	t.Run("banner", func(t *testing.T) {
		p := served(t, "banner")
		if l := ask(t, p); len(l.Tools) != 1 {
			t.Errorf("%+v", l)
		}
		if r := call(t, p, "go", `{}`); r.Text != "ok" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("huge", func(t *testing.T) {
		p := served(t, "huge")
		if r := call(t, p, "go", `{}`); r.Outcome != Unknown || !strings.Contains(r.Text, "too long") || len(r.Text) > 1000 {
			t.Errorf("%.300s", r.Text)
		}
		if !p.Running("srv") {
			t.Error("it was ended for that")
		}
	})
	t.Run("many", func(t *testing.T) {
		p := served(t, "many")
		l := ask(t, p)
		if len(l.Tools) != MostTools || len(l.Notes) != 1 {
			t.Errorf("%d tools, notes %q", len(l.Tools), l.Notes)
		}
		box := p.Box([]List{l}, 0)
		if len(box) != 1 || box[0].Spec().Name != "find_tools" {
			t.Errorf("%d tools are offered", len(box))
		}
	})
	t.Run("names", func(t *testing.T) {
		l := ask(t, served(t, "names"))
		seen := map[string]bool{}
		for _, n := range names(l) {
			if seen[n] || len(n) > 64 || strings.ContainsFunc(n, func(r rune) bool { return r != '_' && r != '-' && (r < '0' || r > 'z') }) {
				t.Errorf("the name %q", n)
			}
			seen[n] = true
		}
		if len(l.Tools) != 6 || !seen["srv__a_b"] {
			t.Errorf("%q %q", names(l), l.Notes)
		}
	})
	t.Run("schemas", func(t *testing.T) {
		l := ask(t, served(t, "schemas"))
		if !slices.Equal(names(l), []string{"srv__yes", "srv__null", "srv__self"}) || len(l.Notes) != 3 || !strings.Contains(strings.Join(l.Notes, "\n"), `"big" is left out`) {
			t.Errorf("%q %q", names(l), l.Notes)
		}
	})
	t.Run("storm", func(t *testing.T) {
		t.Parallel()
		p := served(t, "storm")
		ask(t, p)
		if r := call(t, p, "go", `{}`); r.Text != "ok" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("old", func(t *testing.T) {
		p := served(t, "old")
		if r := call(t, p, "go", `{}`); r.Text != "ok" {
			t.Errorf("%+v", r)
		}
	})
	for kind, want := range map[string]string{"future": "2999-01-01", "exits": "Cannot find module"} {
		t.Run(kind, func(t *testing.T) {
			if _, err := served(t, kind).Ask(t.Context(), "srv"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		p := served(t, "silent")
		lists, why := p.Lists(t.Context(), time.Second) // it never answers
		if len(lists) > 0 || len(why) != 1 || !strings.Contains(why[0], "MCP server srv is not used in this turn") {
			t.Errorf("%v %v", lists, why)
		}
	})
	t.Run("mute", func(t *testing.T) {
		t.Parallel()
		p := served(t, "mute", func(s *Server) { s.Timeout = time.Second }) // it never answers
		if r := call(t, p, "go", `{}`); r.Outcome != Unknown {
			t.Errorf("%+v", r)
		}
	})
	t.Run("missing", func(t *testing.T) {
		p := served(t, "good", func(s *Server) { s.Command = []string{"there-is-no-such-program"} })
		if r := call(t, p, "go", `{}`); r.Outcome != Refused || !strings.Contains(r.Text, "no program") {
			t.Errorf("%+v", r)
		}
	})
}

func TestAServerOverHTTP(t *testing.T) {
	var seen sync.Map
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return good() }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization"), true)
		handler.ServeHTTP(w, r)
	}))
	defer web.Close()
	p := &Pool{Servers: []Server{{Name: "srv", URL: web.URL, Headers: map[string]string{"Authorization": "Bearer x"}}}, Cache: t.TempDir()}
	defer p.Close()
	if l := ask(t, p); !slices.Contains(names(l), "srv__echo") {
		t.Errorf("%+v", l)
	}
	if r := call(t, p, "echo", `{"text": "far"}`); r.Text != "echo: far" {
		t.Errorf("%+v", r)
	}
	if _, without := seen.Load(""); without {
		t.Error("a request without its header")
	}
	web.CloseClientConnections()
	web.Close()
	// Whoever finds the connection dead before it writes knows that nothing happened.
	if r := call(t, p, "echo", `{"text": "gone"}`); r.Outcome != Unknown && r.Outcome != Failed {
		t.Errorf("%+v", r)
	}
}

func TestToolsAreFoundByWhatTheyDo(t *testing.T) {
	var l List
	l.Server = "srv"
	for i := range 60 {
		l.Tools = append(l.Tools, Definition{Name: fmt.Sprintf("srv__thing_%d", i), Tool: fmt.Sprintf("thing_%d", i), Description: "does a thing with files", Schema: json.RawMessage("{}")})
	}
	l.Tools = append(l.Tools, Definition{Name: "srv__createIssue", Tool: "createIssue", Description: "Opens an issue in a repository", Schema: json.RawMessage("{}")})
	p := &Pool{}
	box := p.Box([]List{l}, 0)
	finder := box[0].(tool.Chest)
	answer, err := finder.Run(t.Context(), tool.Call{Args: json.RawMessage(`{"query": "create issues on a repository"}`)})
	if err != nil || answer.IsError || !strings.Contains(answer.Text, "srv__createIssue") {
		t.Fatalf("%+v %v", answer, err)
	}
	if open := box.Open(); open[1].Spec().Name != "srv__createIssue" || len(open) > 1+bestFound {
		t.Errorf("%d are open", len(open))
	}
	// A fork, or a later process, has what stands in the history.
	other := p.Box([]List{l}, 0)
	other[0].(tool.Memory).Recall(slices.Values([]json.RawMessage{json.RawMessage(`{"x":1}`), json.RawMessage(answer.Memo)}))
	if len(other.Open()) != len(box.Open()) {
		t.Error("it does not recall")
	}
	if answer, _ := finder.Run(t.Context(), tool.Call{Args: json.RawMessage(`{"query": "xyzzy"}`)}); !answer.IsError {
		t.Errorf("%+v", answer)
	}
	if few := p.Box([]List{{Server: "srv", Tools: l.Tools[:40]}}, 0); len(few) != 40 {
		t.Errorf("%d of few", len(few))
	}
	if large := p.Box([]List{{Server: "srv", Tools: l.Tools[:10]}}, 100); len(large) != 1 {
		t.Errorf("%d of large", len(large))
	}
}
