package chat

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"ramet/internal/fault"
	"ramet/internal/llm"
	"ramet/internal/llm/wire"
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
		"[DONE] too early":   {[]string{`{"choices":[{"delta":{"content":"a"}}]}`, "[DONE]"}, "a", llm.Usage{}, fault.StreamCut},
		"nothing":            {nil, "", llm.Usage{}, fault.StreamCut},
		"a piece of no call": {[]string{`{"choices":[{"delta":{"tool_calls":[{"index":3,"function":{"arguments":"{}"}}]},"finish_reason":"stop"}]}`}, "", llm.Usage{}, ""},
		"an error":           {[]string{`{"error":{"message":"Rate limit","type":"rate_limit_exceeded"}}`}, "", llm.Usage{}, fault.ProviderRateLimit},
		"an error in choice": {[]string{`{"choices":[{"delta":{},"error":{"code":429,"message":"slow"}}]}`}, "", llm.Usage{}, fault.ProviderRateLimit},
	} {
		m, usage, _, err := talk(t, &says{chunks: c.chunks}, Dialect{}, hi)
		if m.Text() != c.text || usage != c.usage || (c.code == "") != (err == nil) || c.code != "" && !fault.Is(err, c.code) {
			t.Errorf("%s: %q %+v %v", name, m.Text(), usage, err)
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
