package llmtest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

func (s Suite) stories(t *testing.T) {
	for name, c := range map[string]struct {
		reason llm.Reason
		usage  llm.Usage
		check  func(t *testing.T, m llm.Message)
	}{
		"text": {llm.Stop, llm.Usage{Input: 12, Output: 5}, func(t *testing.T, m llm.Message) {
			if len(m.Parts) != 1 || m.Text() != "Hello, world." {
				t.Errorf("said %+v", m.Parts)
			}
		}},
		"thinking": {llm.Stop, llm.Usage{Input: 12, Output: 20, Reasoning: s.Reasoning}, func(t *testing.T, m llm.Message) {
			if len(m.Parts) < 2 || m.Parts[0].Type != llm.Thinking || m.Parts[0].Text != "Let me see." || m.Text() != "It is 4." {
				t.Fatalf("said %+v", m.Parts)
			}
			signed := false
			for _, p := range m.Parts {
				signed = signed || p.Origin != "" && (p.Signature != "" || p.Opaque != nil)
			}
			if signed != s.Thinking {
				t.Errorf("signed: %v, want %v: %+v", signed, s.Thinking, m.Parts)
			}
		}},
		"tools": {llm.ToolCalls, llm.Usage{Input: 12, Output: 30}, func(t *testing.T, m llm.Message) {
			calls := m.Calls()
			if m.Text() != "I will look." || len(calls) != 2 {
				t.Fatalf("said %+v", m.Parts)
			}
			for i, want := range []llm.Part{
				{Type: llm.ToolCall, CallID: "call_a", Name: "read", Args: []byte(`{"path":"a.txt"}`)},
				{Type: llm.ToolCall, CallID: "call_b", Name: "list", Args: []byte(`{}`)},
			} {
				got := calls[i]
				if got.CallID != want.CallID || got.Name != want.Name || !bytes.Equal(got.Args, want.Args) || got.Malformed != "" {
					t.Errorf("call %d is %+v", i, got)
				}
			}
		}},
		"cache": {llm.Stop, llm.Usage{Input: 10, Output: 2, CacheRead: 100, CacheWrite: s.WriteCache}, func(t *testing.T, m llm.Message) {
			if m.Text() != "Hi" {
				t.Errorf("said %+v", m.Parts)
			}
		}},
		"length": {llm.Length, llm.Usage{Input: 12, Output: 1}, func(t *testing.T, m llm.Message) {
			if m.Text() != "Hello" {
				t.Errorf("said %+v", m.Parts)
			}
		}},
		"badargs": {llm.Length, llm.Usage{Input: 12, Output: 9}, func(t *testing.T, m llm.Message) {
			calls := m.Calls()
			if len(calls) != 1 || calls[0].Malformed != `{"path": "a` || string(calls[0].Args) != "{}" || calls[0].Name != "read" {
				t.Errorf("called %+v", calls)
			}
		}},
		"refusal": {llm.Error, llm.Usage{Input: 12, Output: 4}, func(t *testing.T, m llm.Message) {}},
	} {
		if _, tells := s.Raw[name]; !tells {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := s.server(t, play(read(t, name+".sse")))
			m, usage, finish, err := collect(t, p, s.request())
			testkit.OK(t, err)
			if m.Role != llm.Assistant || usage != c.usage || usage.Total() != c.usage.Input+c.usage.Output+c.usage.CacheRead+c.usage.CacheWrite {
				t.Errorf("usage %+v, want %+v", usage, c.usage)
			}
			if want := (llm.Finish{Reason: c.reason, Raw: s.Raw[name]}); finish != want {
				t.Errorf("finish %+v, want %+v", finish, want)
			}
			c.check(t, m)
		})
	}
	t.Run("error", func(t *testing.T) {
		p := s.server(t, play(read(t, "error.sse")))
		m, _, _, err := collect(t, p, s.request())
		if !fault.Is(err, fault.ProviderOverloaded) || m.Text() != "Hel" {
			t.Errorf("said %q and failed with %v", m.Text(), err)
		}
	})
}

// headers checks that what was hashed is what was sent, and where the key goes.
func (s Suite) headers(t *testing.T) {
	var body []byte
	var path string
	var header http.Header
	p := s.server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		path, header = r.URL.RequestURI(), r.Header
		play(read(t, "text.sse"))(w, r)
	})
	all := gather(t, p.Stream(t.Context(), s.request()))
	sent := all[0]
	if sent.Type != llm.Sent || !bytes.Equal(sent.Sent.Body, body) || !strings.HasSuffix(path, sent.Sent.Path) {
		t.Errorf("first event %s: %s %s, and %s %s arrived", sent.Type, sent.Sent.Path, sent.Sent.Body, path, body)
	}
	if sent.Sent.Hash() != (llm.Bytes{Path: sent.Sent.Path, Body: body}).Hash() {
		t.Error("the hash is not that of the bytes")
	}
	if got := header.Get(s.KeyHeader); got != s.KeyPrefix+Key {
		t.Errorf("%s is %q", s.KeyHeader, got)
	}
	if strings.Contains(path+string(body), Key) {
		t.Error("the key is in what is hashed")
	}
	again := gather(t, p.Stream(t.Context(), s.request()))
	if again[0].Sent.Hash() != sent.Sent.Hash() {
		t.Error("the same request has two hashes")
	}
}

// cuts shuts the connection after every byte: then the answer is whole or it is
// none, and none of its calls is handed on.
func (s Suite) cuts(t *testing.T) {
	for _, name := range []string{"text", "thinking", "tools"} {
		whole := read(t, name+".sse")
		var transport feed
		p := s.New(options(s, &transport))
		answered := false
		for n := range len(whole) + 1 {
			transport.text = whole[:n]
			m, _, finish, err := collect(t, p, s.request())
			switch {
			case err == nil && finish.Reason != "":
				answered = true
			case !fault.Is(err, fault.StreamCut):
				t.Fatalf("%s cut after %d bytes: %v", name, n, err)
			case answered:
				t.Fatalf("%s after %d bytes is not an answer, and with fewer it was", name, n)
			case len(m.Calls()) > 0:
				t.Fatalf("%s cut after %d bytes has calls", name, n)
			}
		}
		if !answered {
			t.Errorf("%s is not an answer at all", name)
		}
	}
}
