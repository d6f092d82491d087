package chat

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
)

// says answers with these chunks and keeps what was sent.
type says struct {
	chunks []string
	sent   string
}

func (s *says) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	s.sent = string(body)
	text := ""
	for _, c := range s.chunks {
		text += "data: " + c + "\n\n"
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}, err
}

func talk(t *testing.T, s *says, d Dialect, r llm.Request) (llm.Message, llm.Usage, llm.Finish, error) {
	t.Helper()
	p := New(wire.Options{Vendor: "v", Base: "http://h", HTTP: s, Model: func(n string) llm.Model { return llm.Model{Name: n} }}, d)
	return llm.Collect(p.Stream(t.Context(), r))
}

var hi = llm.Request{Model: "m", Messages: []llm.Message{llm.Say(llm.User, "Hi")}}

// Servers differ in how they send calls.
func TestCallsInEveryDialect(t *testing.T) {
	const end = `{"choices":[{"delta":{},"finish_reason":"stop"}]}` // some say stop
	for name, chunks := range map[string][]string{
		"numbered, in pieces": {`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"k\""}},{"index":1,"id":"b","function":{"name":"y","arguments":""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":":1}"}}]}}]}`},
		"all numbered 0": {`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"k\":1}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"y","arguments":"{}"}}]}}]}`},
		"not numbered": {`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{\"k\""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":1}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"y","arguments":"{}"}}]}}]}`},
		"at once, as objects": {`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":{"k":1}}},{"id":"b","function":{"name":"y","arguments":{}}}]}}]}`},
		"the id again and again": {`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"k\""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":":1}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"y","arguments":"{}"}}]}}]}`},
	} {
		m, _, finish, err := talk(t, &says{chunks: append(chunks, end)}, Dialect{}, hi)
		calls := m.Calls()
		if err != nil || finish.Reason != llm.ToolCalls || len(calls) != 2 {
			t.Errorf("%s: %+v %+v %v", name, calls, finish, err)
			continue
		}
		if calls[0].CallID != "a" || string(calls[0].Args) != `{"k":1}` || calls[1].CallID != "b" || string(calls[1].Args) != "{}" {
			t.Errorf("%s: %+v", name, calls)
		}
	}
	m, _, _, err := talk(t, &says{chunks: []string{`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"x","arguments":"{}"}}]}}]}`, end}}, Dialect{}, hi)
	if err != nil || len(m.Calls()) != 1 || !wire.IsDrawn(m.Calls()[0].CallID) {
		t.Errorf("no id: %+v %v", m, err)
	}
}

func TestPlainThinkingGoesBackWhereItIsWanted(t *testing.T) {
	for _, c := range []struct{ in, dialect, want string }{
		{"reasoning_content", "reasoning_content", `"reasoning_content":"hm"`},
		{"reasoning", "reasoning", `"reasoning":"hm"`},
		{"reasoning_content", "", ""},
	} {
		s := &says{chunks: []string{`{"choices":[{"delta":{"` + c.in + `":"hm"}}]}`, `{"choices":[{"delta":{"content":"so"},"finish_reason":"stop"}]}`, "[DONE]"}}
		m, _, _, err := talk(t, s, Dialect{Thoughts: c.dialect}, hi)
		if err != nil || m.Parts[0].Type != llm.Thinking || m.Parts[0].Text != "hm" || m.Text() != "so" {
			t.Fatalf("%+v %v", m, err)
		}
		r := hi
		r.Messages = append(r.Messages, m, llm.Say(llm.User, "and?"))
		if _, _, _, err := talk(t, s, Dialect{Thoughts: c.dialect}, r); err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(s.sent, "hm"); has != (c.want != "") || !strings.Contains(s.sent, c.want) {
			t.Errorf("%+v: sent %s", c, s.sent)
		}
	}
}

func TestOddChunks(t *testing.T) {
	for name, c := range map[string]struct {
		chunks []string
		text   string
		usage  llm.Usage
		code   fault.Code
	}{
		"a list as content":  {[]string{`{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},"finish_reason":"stop"}]}`}, "ab", llm.Usage{}, ""},
		"usage of DeepSeek":  {[]string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":1,"prompt_cache_hit_tokens":4}}`}, "a", llm.Usage{Input: 6, Output: 1, CacheRead: 4}, ""},
		"no [DONE]":          {[]string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`}, "a", llm.Usage{}, ""},
		"[DONE] alone":       {[]string{`{"choices":[{"delta":{"content":"a"}}]}`, "[DONE]"}, "a", llm.Usage{}, ""},
		"a call, [DONE]":     {[]string{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"rm","arguments":"{}"}}]}}]}`, "[DONE]"}, "", llm.Usage{}, fault.StreamCut},
		"no end at all":      {[]string{`{"choices":[{"delta":{"content":"a"}}]}`}, "a", llm.Usage{}, fault.StreamCut},
		"thinking beside":    {[]string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":18,"completion_tokens_details":{"reasoning_tokens":7}}}`}, "a", llm.Usage{Input: 10, Output: 8, Reasoning: 7}, ""},
		"thinking within":    {[]string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":8,"total_tokens":18,"completion_tokens_details":{"reasoning_tokens":7}}}`}, "a", llm.Usage{Input: 10, Output: 8, Reasoning: 7}, ""},
		"what it charged":    {[]string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11,"cost":0.0001234567}}`}, "a", llm.Usage{Input: 10, Output: 1, Billed: 123457}, ""},
		"nothing":            {nil, "", llm.Usage{}, fault.StreamCut},
		"a piece of no call": {[]string{`{"choices":[{"delta":{"tool_calls":[{"index":3,"function":{"arguments":"{}"}}]},"finish_reason":"stop"}]}`}, "", llm.Usage{}, ""},
		"an error":           {[]string{`{"error":{"message":"Rate limit","type":"rate_limit_exceeded"}}`}, "", llm.Usage{}, fault.ProviderRateLimit},
		"an error in choice": {[]string{`{"choices":[{"delta":{},"error":{"code":429,"message":"slow"}}]}`}, "", llm.Usage{}, fault.ProviderRateLimit},
	} {
		m, usage, _, err := talk(t, &says{chunks: c.chunks}, Dialect{}, hi)
		if m.Text() != c.text || usage != c.usage || (c.code == "") != (err == nil) || c.code != "" && !fault.Is(err, c.code) {
			t.Errorf("%s: %q %+v %v", name, m.Text(), usage, err)
		}
		if c.code == fault.StreamCut {
			testkit.Attack(t, "input", "a stream with "+name)
		}
	}
}

func TestTheLimitHasTwoNames(t *testing.T) {
	r := hi
	r.MaxTokens = 7
	for _, long := range []bool{false, true} {
		s := &says{chunks: []string{`{"choices":[{"delta":{},"finish_reason":"stop"}]}`}}
		if _, _, _, err := talk(t, s, Dialect{LongLimit: long}, r); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(s.sent, `"max_completion_tokens":7`) != long || strings.Contains(s.sent, `"max_tokens":7`) == long {
			t.Errorf("%v: %s", long, s.sent)
		}
	}
}

// Mistral's content is a list in which thoughts are lists.
func TestThoughtsInLists(t *testing.T) {
	m, _, _, err := talk(t, &says{chunks: []string{
		`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]}]}}]}`,
		`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"m"}]}]}}]}`,
		`{"choices":[{"delta":{"content":"so"},"finish_reason":"stop"}]}`}}, Dialect{}, hi)
	if err != nil || len(m.Parts) != 2 || m.Parts[0].Type != llm.Thinking || m.Parts[0].Text != "hm" || m.Text() != "so" {
		t.Errorf("%+v %v", m, err)
	}
}

// A detail without a text to show goes with what was said, and comes back.
func TestDetailsComeBackAsTheyCame(t *testing.T) {
	for name, c := range map[string]struct {
		chunks []string
		want   string
	}{
		"encrypted, with a call": {[]string{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}],"reasoning_details":[{"type":"reasoning.encrypted","data":"SECRET","id":"a","index":0}]},"finish_reason":"tool_calls"}]}`},
			`"reasoning_details":[{"data":"SECRET","id":"a","index":0,"type":"reasoning.encrypted"}]`},
		"two of one index": {[]string{`{"choices":[{"delta":{"content":"a","reasoning":"h","reasoning_details":[{"type":"reasoning.summary","summary":"h","index":0}]}}]}`,
			`{"choices":[{"delta":{"reasoning":"m","reasoning_details":[{"type":"reasoning.summary","summary":"m","index":0}]}}]}`,
			`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"S","id":"rs_1","index":0}]},"finish_reason":"stop"}]}`},
			`"reasoning_details":[{"index":0,"summary":"hm","type":"reasoning.summary"},{"data":"S","id":"rs_1","index":0,"type":"reasoning.encrypted"}]`},
		"two of one type": {[]string{`{"choices":[{"delta":{"content":"a","reasoning_details":[{"type":"reasoning.encrypted","data":"S","id":"1","index":0},{"type":"reasoning.encrypted","data":"T","id":"2","index":0}]},"finish_reason":"stop"}]}`},
			`[{"data":"S","id":"1","index":0,"type":"reasoning.encrypted"},{"data":"T","id":"2","index":0,"type":"reasoning.encrypted"}]`},
	} {
		s := &says{chunks: c.chunks}
		m, _, _, err := talk(t, s, Dialect{}, hi)
		if err != nil || m.Parts[len(m.Parts)-1].Type == llm.Thinking {
			t.Fatalf("%s: %+v %v", name, m, err)
		}
		r := hi
		r.Messages = append(r.Messages, m, llm.Say(llm.User, "and?"))
		if _, _, _, err := talk(t, s, Dialect{}, r); err != nil || !strings.Contains(s.sent, c.want) {
			t.Errorf("%s: %v, sent %s", name, err, s.sent)
		}
	}
}

func TestIDsGoBackAsTheyCame(t *testing.T) {
	s := &says{chunks: []string{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"functions.x:0","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`}}
	m, _, _, err := talk(t, s, Dialect{}, hi)
	testkit.OK(t, err)
	foreign := llm.NewCall("functions.y:0", "y", "{}")
	r := hi
	r.Messages = append(r.Messages, m, llm.Message{Role: llm.ToolRole, Parts: []llm.Part{llm.Result(m.Calls()[0], "1", false)}},
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{foreign}}, llm.Message{Role: llm.ToolRole, Parts: []llm.Part{llm.Result(foreign, "2", false)}})
	if _, _, _, err := talk(t, s, Dialect{}, r); err != nil {
		t.Fatal(err)
	}
	if strings.Count(s.sent, `"functions.x:0"`) != 2 || strings.Contains(s.sent, "functions.y:0") {
		t.Error(s.sent)
	}
}

func TestMarksForThoseWhoWantThem(t *testing.T) {
	r := llm.Request{Model: "anthropic/claude-x", CacheAfter: []int{0, 3}, Messages: []llm.Message{
		llm.Say(llm.System, "s"), llm.Say(llm.User, "u"),
		{Role: llm.Assistant, Parts: []llm.Part{llm.NewCall("a", "x", "{}")}},
		{Role: llm.ToolRole, Parts: []llm.Part{llm.Result(llm.NewCall("a", "x", "{}"), "r", false)}}}}
	for _, c := range []struct {
		model, want string
		hour        bool
		marks       int
	}{
		{"anthropic/claude-x", `{"type":"text","text":"r","cache_control":{"type":"ephemeral"}}`, false, 2},
		{"anthropic/claude-x", `{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}`, true, 2},
		{"openai/gpt-5", `"content":"s"`, false, 0},
	} {
		s := &says{chunks: []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`}}
		r.Model, r.CacheHour = c.model, c.hour
		if _, _, _, err := talk(t, s, Dialect{Marks: "anthropic/", Cost: true}, r); err != nil {
			t.Fatal(err)
		}
		if strings.Count(s.sent, "cache_control") != c.marks || !strings.Contains(s.sent, c.want) || !strings.Contains(s.sent, `"usage":{"include":true}`) {
			t.Errorf("%+v: %s", c, s.sent)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var suite = llmtest.Suite{
	New:   func(o wire.Options) llm.Provider { return New(o, Dialect{}) },
	Model: "llama", KeyHeader: "Authorization", KeyPrefix: "Bearer ", Thinking: true, Reasoning: 8, WriteCache: 20,
	Raw: map[string]string{"text": "stop", "thinking": "stop", "tools": "tool_calls", "cache": "stop",
		"length": "length", "badargs": "length", "refusal": "refusal"},
}

func TestConformance(t *testing.T) { llmtest.Run(t, suite) }

func FuzzStream(f *testing.F) { llmtest.Fuzz(f, suite) }
