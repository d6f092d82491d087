package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	"ramet/internal/model/anthropic"
	"ramet/internal/model/chat"
	"ramet/internal/model/gemini"
	"ramet/internal/model/llm"
	"ramet/internal/model/responses"
	"ramet/internal/model/wire"
)

type object = map[string]any

// list reads a list of objects.
func list(v any) []object {
	var out []object
	items, _ := v.([]any)
	for _, one := range items {
		o, _ := one.(object)
		out = append(out, o)
	}
	return out
}

// strict are servers that accept what the vendors' documentation demands, and
// nothing else.
var strict = []struct {
	name  string
	open  func(wire.Options) llm.Provider
	check func(body object) error
}{
	{"anthropic", func(o wire.Options) llm.Provider { return anthropic.At(o, anthropic.Host{}) }, func(body object) error {
		messages := list(body["messages"])
		var open []any
		ids := map[any]bool{}
		for i, m := range messages {
			role, blocks := m["role"], list(m["content"])
			if want := []string{"user", "assistant"}[i%2]; role != want {
				return fmt.Errorf("message %d is of %s", i, role)
			}
			if len(blocks) == 0 {
				return fmt.Errorf("message %d is empty", i)
			}
			for j, id := range open {
				if j >= len(blocks) || blocks[j]["type"] != "tool_result" || blocks[j]["tool_use_id"] != id {
					return fmt.Errorf("message %d does not begin with the results of %v", i, open)
				}
			}
			for j, b := range blocks {
				switch b["type"] {
				case "tool_result":
					if j >= len(open) {
						return fmt.Errorf("message %d has a result without a call", i)
					}
				case "text":
					if s, _ := b["text"].(string); strings.TrimSpace(s) == "" {
						return fmt.Errorf("message %d has an empty text", i)
					}
				case "tool_use":
					if role != "assistant" || ids[b["id"]] || b["name"] == "" {
						return fmt.Errorf("message %d calls with %v, which is taken", i, b["id"])
					}
					ids[b["id"]] = true
				}
			}
			open = nil
			for _, b := range blocks {
				if b["type"] == "tool_use" {
					open = append(open, b["id"])
				}
			}
			if t := blocks[len(blocks)-1]["type"]; t == "thinking" || t == "redacted_thinking" {
				return fmt.Errorf("message %d ends in a thought", i)
			}
		}
		return atEnd(open, len(messages) > 0 && messages[len(messages)-1]["role"] == "assistant")
	}},
	{"chat", func(o wire.Options) llm.Provider { return chat.New(o, chat.Dialect{Thoughts: "reasoning"}) }, func(body object) error {
		var open []any
		last := ""
		for i, m := range list(body["messages"]) {
			role, _ := m["role"].(string)
			if role == "tool" {
				if len(open) == 0 || open[0] != m["tool_call_id"] {
					return fmt.Errorf("message %d answers %v, open are %v", i, m["tool_call_id"], open)
				}
				open = open[1:]
			} else if len(open) > 0 {
				return fmt.Errorf("message %d stands before the results of %v", i, open)
			}
			for _, c := range list(m["tool_calls"]) {
				open = append(open, c["id"])
			}
			if m["content"] == nil && len(open) == 0 || m["content"] == "" && role != "tool" {
				return fmt.Errorf("message %d is empty", i)
			}
			if role != "system" {
				last = role
			}
		}
		return atEnd(open, last == "assistant")
	}},
	{"responses", responses.New, func(body object) error {
		open := map[any]bool{}
		closed := map[any]bool{}
		last := any("")
		for i, m := range list(body["input"]) {
			switch m["type"] {
			case "function_call":
				if open[m["call_id"]] || closed[m["call_id"]] {
					return fmt.Errorf("item %d: call %v again", i, m["call_id"])
				}
				open[m["call_id"]] = true
			case "function_call_output":
				if !open[m["call_id"]] {
					return fmt.Errorf("item %d: no call %v is open", i, m["call_id"])
				}
				delete(open, m["call_id"])
				closed[m["call_id"]], last = true, "tool"
			case "message":
				if len(open) > 0 && m["role"] != "assistant" {
					return fmt.Errorf("item %d stands before results", i)
				}
				if len(list(m["content"])) == 0 {
					return fmt.Errorf("item %d is empty", i)
				}
				if m["role"] != "system" {
					last = m["role"]
				}
			}
		}
		if len(open) > 0 {
			return errors.New("calls are open at the end")
		}
		return atEnd(nil, last == "assistant")
	}},
	{"gemini", gemini.New, func(body object) error {
		open := 0
		last := any("")
		for i, m := range list(body["contents"]) {
			role := m["role"]
			if role == last {
				return fmt.Errorf("content %d is of %s again", i, role)
			}
			if i == 0 && role != "user" {
				return errors.New("the user does not begin")
			}
			last = role
			calls, results := 0, 0
			for _, p := range list(m["parts"]) {
				if p["functionCall"] != nil {
					calls++
				}
				if p["functionResponse"] != nil {
					results++
				}
			}
			if len(list(m["parts"])) == 0 || results != open || calls > 0 && role != "model" {
				return fmt.Errorf("content %d has %d results for %d calls", i, results, open)
			}
			open = calls
		}
		if open > 0 {
			return errors.New("calls are open at the end")
		}
		return atEnd(nil, last == "model")
	}},
}

func atEnd(open []any, prefilled bool) error {
	if len(open) > 0 {
		return fmt.Errorf("%v are open at the end", open)
	}
	if prefilled {
		return errors.New("the model said the last word")
	}
	return nil
}

// Every vendor takes what the adapters make of any conversation.
func TestEveryVendorAcceptsAnyHistory(t *testing.T) {
	for _, v := range strict {
		t.Run(v.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				var body object
				err := json.NewDecoder(req.Body).Decode(&body)
				if err == nil {
					err = v.check(body)
				}
				if err != nil {
					http.Error(w, `{"error": {"type": "invalid_request_error", "message": `+fmt.Sprintf("%q", err)+`}}`, http.StatusBadRequest)
					return
				}
				w.WriteHeader(http.StatusTeapot) // accepted: nothing more is asked
			}))
			defer server.Close()
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			p := v.open(wire.Options{Vendor: v.name, Base: server.URL, HTTP: transport, Model: func(string) llm.Model { return llm.Model{} }})
			rapid.Check(t, func(t *rapid.T) {
				b := newBook()
				for range rapid.IntRange(1, 25).Draw(t, "n") {
					b.any(t)
				}
				_, c := b.replay(t)
				messages := c.Messages()
				if c.State() == Idle {
					messages = append(messages, llm.Say(llm.User, "go on"))
				}
				_, _, _, err := llm.Collect(p.Stream(context.Background(), llm.Request{Model: "x", Messages: messages}))
				why, ok := errors.AsType[*llm.Failure](err)
				if !ok || why.Status != http.StatusTeapot {
					t.Fatalf("%v (%s)\n%s", err, fault.CodeOf(err), short(messages))
				}
			})
		})
	}
}
