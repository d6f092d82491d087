package gateway

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

// site is a gate before a vendor of ours.
type site struct {
	t       *testing.T
	store   *model
	gate    *Gate
	door    *Door
	mu      sync.Mutex
	asked   []*http.Request // with their bodies read
	bodies  [][]byte
	records chan Record
}

func newSite(t *testing.T, b agent.Budget, answer http.HandlerFunc) *site {
	s := &site{t: t, store: newModel(b), records: make(chan Record, 16)}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.asked, s.bodies = append(s.asked, r), append(s.bodies, body)
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(up.Close)
	at := testkit.Must(url.Parse(up.URL))(t)
	s.gate = testkit.Must(Open(Options{Reserver: NewReserver(s.store, "test"), Upstream: map[string]*url.URL{"anthropic": at, "openai": at, "gemini": at},
		Record: func(_ context.Context, r Record) error {
			s.store.spend(agent.Spending{Tokens: r.Usage.Total(), Cost: int64(r.Cost)})
			s.records <- r
			return nil
		},
		MCP: func(w http.ResponseWriter, _ *http.Request, by id.Agent) { io.WriteString(w, string(by)) }}))(t)
	t.Cleanup(func() { s.gate.Close() })
	s.door = testkit.Must(s.gate.Door(Way{Agent: s.store.root.ID, Driver: "test"}))(t)
	return s
}

func (s *site) post(vendor, path, body string, change ...func(*http.Request)) (int, string) {
	s.t.Helper()
	base, _ := s.door.Base(vendor)
	r := testkit.Must(http.NewRequestWithContext(s.t.Context(), "POST", base+path, strings.NewReader(body)))(s.t)
	for _, c := range change {
		c(r)
	}
	answer := testkit.Must(http.DefaultClient.Do(r))(s.t)
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

func (s *site) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

const anthropicStream = `event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":20,"output_tokens":1}}}

event: content_block_delta
data: {"type":"content_block_delta","delta":{"text":"usage"}}

event: message_delta
data: {"type":"message_delta","usage":{"output_tokens":7}}

`

// What goes through is the same bytes both ways, is counted as the vendor counts, and leaves
// nothing set aside.
func TestCallsGoThroughAndAreCounted(t *testing.T) {
	for _, c := range []struct {
		vendor, path, media, request, answer string
		want                                 llm.Usage
	}{
		{"anthropic", "/v1/messages?beta=true", "text/event-stream", `{"model":"claude-sonnet-4-6","max_tokens":100}`, anthropicStream,
			llm.Usage{Input: 10, Output: 7, CacheRead: 20, CacheWrite: 3}},
		{"anthropic", "/v1/messages", "application/json", `{"model":"m","max_tokens":100}`, `{"type":"message","usage":{"input_tokens":4,"output_tokens":5}}`, llm.Usage{Input: 4, Output: 5}},
		{"openai", "/v1/responses", "text/event-stream", `{"model":"m","max_output_tokens":9}`,
			"data: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":30,\"input_tokens_details\":{\"cached_tokens\":10},\"output_tokens\":5}}}\n\n",
			llm.Usage{Input: 20, CacheRead: 10, Output: 5}},
		{"openai", "/v1/chat/completions", "application/json", `{"model":"m"}`, "{\n  \"choices\": [],\n  \"usage\": {\n    \"prompt_tokens\": 8,\n    \"completion_tokens\": 2\n  }\n}\n", llm.Usage{Input: 8, Output: 2}},
		{"gemini", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "text/event-stream", `{"generationConfig":{"maxOutputTokens":50}}`,
			"data: {\"usageMetadata\":{\"promptTokenCount\":9}}\r\n\r\ndata: {\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":3,\"thoughtsTokenCount\":2,\"cachedContentTokenCount\":4}}\r\n\r\n",
			llm.Usage{Input: 5, CacheRead: 4, Output: 5, Reasoning: 2}},
		{"gemini", "/v1beta/models/m:streamGenerateContent", "application/json", `{}`, "[{\n\"usageMetadata\": {\"promptTokenCount\": 1}\n},\n{\"usageMetadata\": {\"promptTokenCount\": 1, \"candidatesTokenCount\": 6}}]\n", llm.Usage{Input: 1, Output: 6}},
	} {
		s := newSite(t, agent.Budget{Tokens: agent.AtMost(1 << 40)}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.media)
			io.WriteString(w, c.answer)
		})
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		io.WriteString(z, c.request)
		z.Close()
		sent := packed.String()
		status, got := s.post(c.vendor, c.path, sent, func(r *http.Request) {
			r.Header.Set("Content-Encoding", "gzip")
			r.Header.Set("Authorization", "Bearer theirs")
		})
		if status != 200 || got != c.answer {
			t.Errorf("%s: %d %q", c.path, status, got)
		}
		rec := <-s.records
		if rec.Usage != c.want || !rec.Counted || rec.Status != 200 || len(rec.Request) != 64 || len(rec.Response) != 64 {
			t.Errorf("%s: %+v", c.path, rec)
		}
		if up := s.asked[0]; string(s.bodies[0]) != sent || up.Header.Get("Authorization") != "Bearer theirs" || up.URL.String() != c.path {
			t.Errorf("%s: sent on %q %v %s", c.path, s.bodies[0], up.Header, up.URL)
		}
		s.gate.server.Shutdown(t.Context()) // when the handler is over
		if held := s.store.allowance().Held; held != (agent.Spending{}) {
			t.Errorf("%s: %+v is still set aside", c.path, held)
		}
	}
}

// What no budget holds is refused in the vendor's own form, and never sent.
func TestWhatNoBudgetHoldsIsNotSent(t *testing.T) {
	s := newSite(t, agent.Budget{Tokens: agent.AtMost(50_000)}, func(w http.ResponseWriter, _ *http.Request) {})
	for vendor, want := range map[string]struct {
		path, says string
		status     int
	}{
		"anthropic": {"/v1/messages", `{"error":{"message":"ramet: BUDGET_EXCEEDED: `, 402},
		"openai":    {"/v1/responses", `{"error":{"code":"permission_error"`, 403},
		"gemini":    {"/v1beta/models/m:generateContent", `{"error":{"code":403`, 403},
	} {
		status, got := s.post(vendor, want.path, `{"model":"m","max_tokens":90000,"max_output_tokens":90000,"generationConfig":{"maxOutputTokens":90000}}`)
		if status != want.status || !strings.HasPrefix(got, want.says) || !strings.Contains(got, "BUDGET_EXCEEDED") {
			t.Errorf("%s: %d %s", vendor, status, got)
		}
	}
	if n := s.requests(); n != 0 {
		t.Errorf("%d were sent", n)
	}
	if sum := s.door.Total(t.Context()); sum.Refused != 3 || sum.Calls != 0 {
		t.Errorf("%+v", sum)
	}
}

// Nothing else goes through.
func TestNothingElseGoesThrough(t *testing.T) {
	s := newSite(t, agent.Budget{}, func(w http.ResponseWriter, _ *http.Request) {})
	good := `{"model":"m"}`
	for what, try := range map[string]func() (int, string){
		"another path": func() (int, string) { return s.post("anthropic", "/v1/files", good) },
		"a way around": func() (int, string) { return s.post("anthropic", "/v1/models/%2e%2e/messages", good) },
		"another name": func() (int, string) { return s.post("evil", "/v1/messages", good) },
		"an upgrade": func() (int, string) {
			return s.post("openai", "/v1/responses", good, func(r *http.Request) { r.Header.Set("Upgrade", "websocket") })
		},
		"a page": func() (int, string) {
			return s.post("openai", "/v1/responses", good, func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") })
		},
		"another host": func() (int, string) {
			return s.post("openai", "/v1/responses", good, func(r *http.Request) { r.Host = "evil.example" })
		},
		"another agent": func() (int, string) {
			return s.post("openai", "/v1/responses", good, func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "/a/", "/a/x", 1) })
		},
		"no JSON": func() (int, string) { return s.post("openai", "/v1/responses", "model=m") },
	} {
		if status, got := try(); status < 400 {
			t.Errorf("%s: %d %s", what, status, got)
		}
	}
	if n := s.requests(); n != 0 {
		t.Errorf("%d were sent", n)
	}
	at, _ := s.door.MCP()
	if answer, err := http.Post(at, "application/json", strings.NewReader("{}")); err != nil {
		t.Error(err)
	} else if text, _ := io.ReadAll(answer.Body); string(text) != string(s.door.Agent) {
		t.Errorf("%s", text)
	}
	if _, err := Open(Options{Upstream: map[string]*url.URL{"openai": {Scheme: "http", Host: "example.com"}}}); err == nil {
		t.Error("an address without TLS is taken")
	}
}

// The first word is not delayed; a kill cuts the answer at once, and what nobody counted stays
// set aside.
func TestAKillCutsTheStream(t *testing.T) {
	gone := make(chan struct{})
	s := newSite(t, agent.Budget{Tokens: agent.AtMost(1 << 40)}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, strings.SplitAfterN(anthropicStream, "\n\n", 2)[0])
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	base, _ := s.door.Base("anthropic")
	answer := testkit.Must(http.Post(base+"/v1/messages", "application/json", strings.NewReader(`{"model":"m","max_tokens":5}`)))(t)
	defer answer.Body.Close()
	if line, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil || line != "event: message_start\n" {
		t.Fatalf("%q %v", line, err)
	}
	s.door.Close()
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Error("half an answer looks whole")
	}
	<-gone
	if rec := <-s.records; rec.Counted {
		t.Errorf("%+v", rec)
	}
	if status, _ := s.post("anthropic", "/v1/messages", `{"model":"m"}`); status != 404 {
		t.Errorf("after the kill: %d", status)
	}
	if held := s.store.allowance().Held; held.Tokens == 0 {
		t.Error("what was cut counts as nothing")
	}
}

// With clamp a request is lowered to what is left, whatever form it has, and that is recorded.
func TestRequestsAreLowered(t *testing.T) {
	for _, c := range []struct{ vendor, path, body, want string }{
		{"anthropic", "/v1/messages", `{"model":"m","max_tokens":90000,"thinking":{"type":"enabled","budget_tokens":80000}}`, `{"max_tokens":4096,"model":"m","thinking":{"budget_tokens":2048,"type":"enabled"}}`},
		{"openai", "/v1/responses", `{"model":"m"}`, `{"max_output_tokens":4096,"model":"m"}`},
		{"openai", "/v1/chat/completions", `{"max_tokens":90000,"model":"m"}`, `{"max_tokens":4096,"model":"m"}`},
		{"gemini", "/v1beta/models/m:generateContent", `{"generationConfig":{"maxOutputTokens":90000,"topK":1}}`, `{"generationConfig":{"maxOutputTokens":4096,"topK":1}}`},
	} {
		s := newSite(t, agent.Budget{Tokens: agent.AtMost(40_000)}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"usage":{"input_tokens":1,"output_tokens":1},"usageMetadata":{"promptTokenCount":1}}`)
		})
		s.gate.o.Clamp, s.gate.o.Bodies = true, true
		if status, got := s.post(c.vendor, c.path, c.body); status != 200 {
			t.Fatalf("%s: %d %s", c.path, status, got)
		}
		rec := <-s.records
		if got := string(s.bodies[0]); got != c.want || rec.Asked < 90000 || string(rec.Sent) != got || len(rec.Received) == 0 {
			t.Errorf("%s: sent on %s, recorded %d %s", c.path, got, rec.Asked, rec.Sent)
		}
	}
}

// A limit counts only if the path that is asked obeys it: parallel calls with a limit that their endpoint
// ignores never come to more than the budget.
func TestOnlyLimitsThatThePathObeysCount(t *testing.T) {
	const budget, written = 600_000, 100_000 // what the vendor writes where nothing limits it
	for _, c := range []struct {
		vendor, path, body string
		obeyed             bool
	}{
		{"openai", "/v1/chat/completions", `{"model":"m","max_output_tokens":1}`, false},
		{"openai", "/v1/chat/completions", `{"model":"m","max_tokens":1}`, true},
		{"openai", "/v1/chat/completions", `{"model":"m","Max_Tokens":1}`, false},
		{"openai", "/v1/chat/completions", `{"model":"m","max_completion_tokens":1}`, true},
		{"openai", "/v1/chat/completions", `{"model":"m","max_completion_tokens":1,"max_tokens":200000}`, false},
		{"openai", "/v1/chat/completions", `{"model":"m","generationConfig":{"maxOutputTokens":1}}`, false},
		{"openai", "/v1/responses", `{"model":"m","max_output_tokens":1}`, true},
		{"openai", "/v1/responses", `{"model":"m","max_tokens":1,"max_completion_tokens":1}`, false},
		{"openai", "/v1/responses/compact", `{"model":"m","max_output_tokens":1,"max_tokens":1}`, false},
		{"anthropic", "/v1/messages", `{"model":"m","max_tokens":1}`, true},
		{"anthropic", "/v1/messages", `{"model":"m","max_output_tokens":1,"max_completion_tokens":1}`, false},
		{"gemini", "/v1beta/models/m:generateContent", `{"generationConfig":{"maxOutputTokens":1}}`, true},
		{"gemini", "/v1beta/models/m:generateContent", `{"max_tokens":1,"max_output_tokens":1,"maxOutputTokens":1}`, false},
	} {
		var spent atomic.Int64
		s := newSite(t, agent.Budget{Tokens: agent.AtMost(budget)}, func(w http.ResponseWriter, _ *http.Request) {
			out := int64(written)
			if c.obeyed {
				out = 1
			}
			spent.Add(out)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"usage":{"input_tokens":1,"output_tokens":%[1]d},"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":%[1]d}}`, out)
		})
		var calls sync.WaitGroup
		for range 13 {
			calls.Go(func() { s.post(c.vendor, c.path, c.body) })
		}
		calls.Wait()
		if got := spent.Load(); got == 0 || got > budget || c.obeyed && got != 13 {
			t.Errorf("%s %s: %d tokens of %d in %d calls", c.path, c.body, got, budget, s.requests())
		}
		if !c.obeyed {
			testkit.Attack(t, "budget", "13 times "+c.path+" "+c.body)
		}
	}
}

// Members that Google accepts in a second spelling could limit a call, or multiply it, unseen.
func TestOtherSpellingsOfGoogleAreRefused(t *testing.T) {
	s := newSite(t, agent.Budget{Tokens: agent.AtMost(1 << 40)}, func(http.ResponseWriter, *http.Request) {})
	for _, body := range []string{`{"generation_config":{"candidate_count":8}}`, `{"generationConfig":{},"generation_config":{}}`, `{"cached_content":"c"}`,
		`{"generationConfig":{"candidate_count":8}}`, `{"generationConfig":{"maxOutputTokens":1,"max_output_tokens":9000}}`} {
		status, got := s.post("gemini", "/v1beta/models/m:generateContent", body)
		if status != http.StatusBadRequest || !strings.Contains(got, "generationConfig") || s.requests() != 0 {
			t.Errorf("%s: %d %s", body, status, got)
		}
		testkit.Attack(t, "budget", "gemini "+body)
	}
}

// Vendors differ in which of two members with one name they obey.
func TestMembersThatAreNamedTwiceAreRefused(t *testing.T) {
	s := newSite(t, agent.Budget{Tokens: agent.AtMost(1 << 40)}, func(http.ResponseWriter, *http.Request) {})
	for _, body := range []string{`{"max_tokens":1,"max_tokens":9000}`, `{"n":1,"max_tokens":1,"\u006e":90}`} {
		if status, got := s.post("openai", "/v1/chat/completions", body); status != http.StatusBadRequest || s.requests() != 0 {
			t.Errorf("%s: %d %s", body, status, got)
		}
		testkit.Attack(t, "budget", body)
	}
}

// A key of ours stands in the place of whatever the program sends; an address of the user's in that of
// the vendor's.
func TestOurKeyIsPutIn(t *testing.T) {
	s := newSite(t, agent.Budget{}, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{}`) })
	at := *s.gate.o.Upstream["openai"]
	at.Path = "/proxy"
	s.door = testkit.Must(s.gate.Door(Way{Agent: s.store.root.ID, Keys: map[string]string{"openai": "ours"}, Upstream: map[string]Upstream{"openai": {URL: &at, Strip: "/v1"}}}))(t)
	s.post("openai", "/v1/responses", `{"model":"m"}`, func(r *http.Request) { r.Header.Set("X-Api-Key", "theirs") })
	if up := s.asked[0]; up.Header.Get("Authorization") != "Bearer ours" || up.Header.Get("X-Api-Key") != "" || up.URL.Path != "/proxy/responses" {
		t.Errorf("sent on to %s with %v", up.URL, up.Header)
	}
	if _, err := s.gate.Door(Way{Upstream: map[string]Upstream{"openai": {URL: &url.URL{Scheme: "http", Host: "example.com"}}}}); err == nil {
		t.Error("an address without TLS is taken")
	}
}

// What the program has heard to the end is counted when somebody asks.
func TestATotalWaitsForWhatWasHeard(t *testing.T) {
	release := make(chan struct{})
	s := newSite(t, agent.Budget{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, anthropicStream)
		http.NewResponseController(w).Flush()
		<-release
	})
	base, _ := s.door.Base("anthropic")
	answer := testkit.Must(http.Post(base+"/v1/messages", "application/json", strings.NewReader(`{"model":"m","max_tokens":5}`)))(t)
	defer answer.Body.Close()
	in := bufio.NewReader(answer.Body)
	for line := ""; !strings.Contains(line, "message_delta\",\"usage"); {
		line = testkit.Must(in.ReadString('\n'))(t)
	}
	got := make(chan Total)
	go func() { got <- s.door.Total(t.Context()) }()
	close(release)
	if sum := <-got; sum.Calls != 1 || sum.Usage != (llm.Usage{Input: 10, Output: 7, CacheRead: 20, CacheWrite: 3}) {
		t.Errorf("%+v", sum)
	}
}

// An event that speaks of usage in its words is not the last.
func TestWordsAreNoCount(t *testing.T) {
	m := &meter{events: true}
	io.WriteString(m, strings.SplitAfterN(anthropicStream, "message_delta", 2)[0])
	if _, counted := m.end(); counted {
		t.Error("half an answer is counted")
	}
}

// What a vendor counts in vain is not counted, and stays set aside; more from a cache than was read is nothing
// read beside.
func TestCountsThatCannotBe(t *testing.T) {
	for body, want := range map[string]struct {
		input   int64
		counted bool
	}{
		`{"usage":{"prompt_tokens":12,"completion_tokens":3}}`:                                              {12, true},
		`{"usage":{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":90}}}`: {0, true},
		`{"usageMetadata":{"promptTokenCount":5,"cachedContentTokenCount":9,"candidatesTokenCount":1}}`:     {0, true},
		`{"usage":{}}`: {0, false},
		`{"usage":{"prompt_tokens":0,"completion_tokens":0}}`:                           {0, false},
		`{"usage":{"prompt_tokens":-12,"completion_tokens":3}}`:                         {0, false},
		`{"usage":{"input_tokens":4611686018427387904,"output_tokens":1}}`:              {0, false},
		`{"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":9000000000000}}`: {0, false},
	} {
		m := &meter{}
		io.WriteString(m, body)
		if got, counted := m.end(); counted != want.counted || got.Input != want.input {
			t.Errorf("%s: %+v %v", body, got, counted)
		}
	}
}

// What a request makes the vendor read or write beside its own bytes is set aside as well: several answers,
// what the vendor keeps of before, things that are named.
func TestWhatARequestOnlyNamesIsSetAside(t *testing.T) {
	const limit = 200_000
	much := newSite(t, agent.Budget{Cost: agent.AtMost(1 << 40)}, func(http.ResponseWriter, *http.Request) {})
	if status, said := much.post("anthropic", "/v1/messages", `{"model":"claude-sonnet-4-6","max_tokens":9000000000000000000}`); status != http.StatusPaymentRequired {
		t.Errorf("more than a number holds: %d %s", status, said)
	}
	for _, c := range []struct {
		vendor, path, body string
		fits               bool
	}{
		{"openai", "/v1/chat/completions", `{"model":"m","max_tokens":90000}`, true},
		{"openai", "/v1/chat/completions", `{"model":"m","max_tokens":90000,"n":1}`, true},
		{"openai", "/v1/chat/completions", `{"model":"m","max_tokens":90000,"n":2}`, false},
		{"openai", "/v1/chat/completions", `{"model":"m","max_tokens":9000000000000000000,"n":9000000000000000000}`, false},
		{"gemini", "/v1beta/models/m:generateContent", `{"generationConfig":{"maxOutputTokens":90000,"candidateCount":2}}`, false},
		{"openai", "/v1/responses", `{"model":"m","max_output_tokens":90000,"previous_response_id":null,"conversation":null}`, true},
		{"openai", "/v1/responses", `{"model":"m","max_output_tokens":90000,"previous_response_id":"r1"}`, false},
		{"openai", "/v1/responses", `{"model":"m","max_output_tokens":90000,"conversation":{"id":"c1"}}`, false},
		{"gemini", "/v1beta/models/m:generateContent", `{"cachedContent":"cachedContents/1","generationConfig":{"maxOutputTokens":90000}}`, false},
		{"anthropic", "/v1/messages", `{"model":"m","max_tokens":90000,"messages":[{"source":{"type":"url","url":"https://x"}}]}`, true},
		{"anthropic", "/v1/messages", `{"model":"m","max_tokens":90000,"messages":[{"source":{"type":"url","url":"https://x"}},{"file_id":"f"},{"file_id":"g"}]}`, false},
		{"anthropic", "/v1/messages", `{"model":"m","max_tokens":90000,"messages":[{"text":"\"file_id\" \"file_id\" \"file_id\" \"file_id\""}]}`, true},
	} {
		s := newSite(t, agent.Budget{Tokens: agent.AtMost(limit)}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"usage":{"input_tokens":4,"output_tokens":5,"prompt_tokens":4,"completion_tokens":5},"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":5}}`)
		})
		status, said := s.post(c.vendor, c.path, c.body)
		if (status == 200) != c.fits || (s.requests() == 1) != c.fits {
			t.Errorf("%s: %d %s, %d were sent", c.body, status, said, s.requests())
		}
	}
}
