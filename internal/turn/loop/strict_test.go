package loop

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ramet/internal/core/history"
	"ramet/internal/model/chat"
	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
	"ramet/internal/testkit"
	windowed "ramet/internal/testkit/llmtest"
	"ramet/internal/turn/tool"
)

const assignment = "Count the files of this project, one folder at a time. Do not touch VERY-SPECIAL.txt."

// steps plays a model that makes so many calls and then ends.
func steps(n int) func(windowed.StrictAsked) windowed.StrictSaid {
	made := 0
	return func(a windowed.StrictAsked) windowed.StrictSaid {
		switch {
		case a.Summary():
			return windowed.StrictSaid{Text: fmt.Sprintf("SUMMARY after %d calls", made)}
		case made == n:
			return windowed.StrictSaid{Text: "finished"}
		}
		made++
		return windowed.StrictSaid{Calls: []windowed.StrictCall{{Name: "look", Args: fmt.Sprintf(`{"n":%d}`, made)}}}
	}
}

// strict lets a stage ask a server that enforces its window.
func (s *stage) strict(server *windowed.StrictServer) {
	srv := httptest.NewServer(server)
	transport := &http.Transport{}
	s.t.Cleanup(func() { transport.CloseIdleConnections(); srv.Close() })
	s.turn.Provider = chat.New(wire.Options{Vendor: "vllm", Base: srv.URL, HTTP: transport, Model: func(string) llm.Model { return llm.Model{} }}, chat.Dialect{})
	s.turn.Ref = llm.Ref{Vendor: "vllm", Name: "strict"}
	s.turn.Limits.Steps = 1000
}

// prints is a tool whose answers are of several sizes.
var prints = device{"look", tool.Reads, func(_ context.Context, c tool.Call) (tool.Answer, error) {
	return tool.Answer{Text: output(number(c.Args))}, nil
}}

func output(n int) string {
	return fmt.Sprintf("result %d\n%s", n, strings.Repeat("line of some output\n", 10+n*37%300))
}

// A turn of 500 steps ends well whatever its window is and whoever knows it, and its
// assignment is in every request.
func TestHundredsOfSteps(t *testing.T) {
	count := 150
	if testkit.SoakOn() {
		count = 500
	}
	for _, c := range []struct {
		name   string
		server *windowed.StrictServer
		known  int64 // what we are told of its window
	}{
		{"known", &windowed.StrictServer{Window: 32768}, 32768},
		{"narrow", &windowed.StrictServer{Window: 8192}, 8192},
		{"told when it refuses", &windowed.StrictServer{Window: 16384}, 0},
		{"never told", &windowed.StrictServer{Window: 16384, Hidden: true}, 0},
		{"wrongly known", &windowed.StrictServer{Window: 16384}, 200_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, "", prints)
			s.book = newBook()
			s.book.write(says(history.User, assignment))
			_, s.c = s.book.replay(t)
			server := c.server
			server.Play = steps(count)
			s.strict(server)
			s.turn.Model.Context = c.known
			out := s.must()
			if out.Text != "finished" || out.Calls != count {
				t.Fatalf("%+v", out)
			}
			shaped := strings.Count(s.log(), "\ncompact ")
			asked := server.Requests()
			most, sum := 0, 0
			for i, a := range asked {
				if !strings.Contains(a.Body, assignment) {
					t.Fatalf("request %d does not hold the assignment", i)
				}
				most, sum = max(most, a.Tokens), sum+a.Tokens
			}
			t.Logf("%d requests, %d refused, room made %d times, the longest %d tokens, %d in all", len(asked), server.Refused(), shaped, most, sum)
			if c.known == int64(c.server.Window) && server.Refused() > 0 {
				t.Errorf("%d requests were too long, though the window is known", server.Refused())
			}
			if server.Refused() > 5 {
				t.Errorf("%d requests were too long: nothing was learnt", server.Refused())
			}
			if server.Hidden {
				server.Window = server.Window * 3 / 4 // what was learnt is less
			}
			onlyGrow(t, asked, server.Window, count)
		})
	}
}

func TestHundredsOfStepsSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestHundredsOfSteps(t)
}

// onlyGrow checks that requests begin as the one before did, but for those that follow room
// being made, and that between these they grew by a quarter of the window.
func onlyGrow(t *testing.T, asked []windowed.StrictAsked, window, steps int) {
	t.Helper()
	breaks, grown, before := 0, 0, ""
	for n := range steps {
		grown += (len(output(n)) + 100) / 4 // and the call
	}
	for _, a := range asked {
		if a.Summary() {
			continue
		}
		messages := a.Body[strings.Index(a.Body, `"messages"`):strings.LastIndex(a.Body, `],"tools"`)]
		if !strings.HasPrefix(messages, before) {
			breaks++
		}
		before = messages
	}
	if breaks == 0 || breaks > grown/(window/4) {
		t.Errorf("requests did not begin as the one before %d times, while they grew by %d tokens", breaks, grown)
	}
}

// A server that cuts what is too long without a word is noticed, and what matters is sent
// within what it reads.
func TestAServerThatCutsSilently(t *testing.T) {
	s := newStage(t, "", prints)
	server := &windowed.StrictServer{Window: 8192, Cuts: true, Play: steps(60)}
	s.strict(server)
	if out := s.must(); out.Text != "finished" {
		t.Fatalf("%+v", out)
	}
	over := 0
	for _, a := range server.Requests() {
		if a.Tokens > 8192 {
			over++
		}
	}
	notes := 0
	for _, e := range s.events {
		if e.Type == Note && strings.Contains(e.Text, "cuts what is longer") {
			notes++
		}
	}
	if over > 5 || notes == 0 || notes > 3 {
		t.Errorf("%d requests were cut, and %d notes say so", over, notes)
	}
}

func TestWindowsThatRefusalsName(t *testing.T) {
	for said, want := range map[string]int64{
		"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens":             8192,
		"prompt is too long: 212345 tokens > 200000 maximum":                                                 200000,
		"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length": 200000,
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).":            1048576,
		"the request exceeds the available context size (4096 tokens), try increasing it":                    4096,
		"Your input exceeds the context window of this model.":                                               0,
		"too long": 0,
	} {
		if got, ok := windowIn(said); got != want || ok != (want > 0) {
			t.Errorf("%s: %d", said, got)
		}
	}
}

// The user's words stay, long ones with their beginning and end; of what is longer than the
// window itself too.
func TestTheUsersWordsStay(t *testing.T) {
	s := newStage(t, "", prints)
	s.book = newBook()
	long := "HEAD-OF-IT " + strings.Repeat("a long story ", 10_000) + " TAIL-OF-IT"
	s.book.write(says(history.User, "FIRST-WORDS"), says(history.Assistant, "yes"), says(history.User, long))
	_, s.c = s.book.replay(t)
	server := &windowed.StrictServer{Window: 16384, Play: steps(100)}
	s.strict(server)
	s.turn.Model.Context = 16384
	if out := s.must(); out.Text != "finished" || server.Refused() > 0 {
		t.Fatalf("%+v, %d refused", out, server.Refused())
	}
	for i, a := range server.Requests() {
		for _, words := range []string{"FIRST-WORDS", "HEAD-OF-IT", "TAIL-OF-IT", "bytes of entry 3 are left out here"} {
			if !strings.Contains(a.Body, words) {
				t.Fatalf("request %d lacks %q", i, words)
			}
		}
	}
	_, anew := s.book.replay(t)
	if got, want := fmt.Sprint(anew.Messages()), fmt.Sprint(s.c.Messages()); got != want {
		t.Error("a replay says otherwise")
	}
}
