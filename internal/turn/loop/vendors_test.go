package loop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	"ramet/internal/model/anthropic"
	"ramet/internal/model/chat"
	"ramet/internal/model/gemini"
	"ramet/internal/model/llm"
	"ramet/internal/model/responses"
	"ramet/internal/model/wire"
	"ramet/internal/testkit/llmtest"
)

// Every vendor takes what the adapters make of any conversation.
func TestEveryVendorAcceptsAnyHistory(t *testing.T) {
	for vendor, open := range map[string]func(wire.Options) llm.Provider{
		"anthropic":   func(o wire.Options) llm.Provider { return anthropic.At(o, anthropic.Host{}) },
		"openai-chat": func(o wire.Options) llm.Provider { return chat.New(o, chat.Dialect{Thoughts: "reasoning"}) },
		"openai":      responses.New,
		"gemini":      gemini.New,
	} {
		t.Run(vendor, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body, err := io.ReadAll(req.Body)
				if err == nil {
					_, err = llmtest.CheckRequest(vendor, body)
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
			p := open(wire.Options{Vendor: vendor, Base: server.URL, HTTP: transport, Model: func(string) llm.Model { return llm.Model{} }})
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
