package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// StrictServer is a server of a model with a window, as people run them themselves (vLLM, with
// OpenAI's protocol): what is longer than the window, with the answer that may follow, is
// refused with its words. It counts every fourth byte of what it is sent as a token.
type StrictServer struct {
	Window int  // tokens
	Hidden bool // the list of models does not tell the window, nor does a refusal
	Cuts   bool // what is too long is cut at its beginning, without a word
	// Play answers a request.
	Play func(StrictAsked) StrictSaid

	mu      sync.Mutex
	asked   []StrictAsked
	refused int
}

// StrictAsked is a request as it came.
type StrictAsked struct {
	Body   string
	Last   string // content of the newest message
	Tokens int    // of the request
	Limit  int    // of the answer
	Tools  []string
	Users  []string // contents of the messages of the user
}

// Summary reports whether the request asks for a summary.
func (a StrictAsked) Summary() bool {
	return strings.HasPrefix(a.Last, "Summarise the conversation above")
}

// StrictSaid is an answer: a text, and calls of tools.
type StrictSaid struct {
	Text  string
	Calls []StrictCall
}

// StrictCall is a call of a tool, with arguments in JSON.
type StrictCall struct{ Name, Args string }

// Requests are those that were answered, in their order.
func (s *StrictServer) Requests() []StrictAsked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]StrictAsked(nil), s.asked...)
}

// Refused returns the number of requests that were too long.
func (s *StrictServer) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// ServeHTTP implements http.Handler.
func (s *StrictServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/models") {
		one := map[string]any{"id": "strict", "object": "model"}
		if !s.Hidden {
			one["max_model_len"] = s.Window
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": []any{one}})
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	asked, err := parseAsked(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if asked.Tokens+asked.Limit > s.Window && !s.Cuts {
		s.refused++
		words := fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion).",
			s.Window, asked.Tokens+asked.Limit, asked.Tokens, asked.Limit)
		if s.Hidden {
			words = "the prompt is too long"
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": words, "type": "context_length_exceeded", "code": 400}})
		return
	}
	s.asked = append(s.asked, asked)
	s.answer(w, asked, s.Play(asked))
}

func parseAsked(body []byte) (StrictAsked, error) {
	var q struct {
		Messages []struct {
			Role    string
			Content any
		}
		Tools []struct {
			Function struct{ Name string }
		}
		MaxTokens int `json:"max_tokens"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return StrictAsked{}, err
	}
	out := StrictAsked{Body: string(body), Tokens: len(body) / 4, Limit: q.MaxTokens}
	if n := len(q.Messages); n > 0 {
		out.Last = fmt.Sprint(q.Messages[n-1].Content)
	}
	for _, m := range q.Messages {
		if m.Role == "user" {
			out.Users = append(out.Users, fmt.Sprint(m.Content))
		}
	}
	for _, t := range q.Tools {
		out.Tools = append(out.Tools, t.Function.Name)
	}
	return out, nil
}

// answer streams what is said.
func (s *StrictServer) answer(w http.ResponseWriter, asked StrictAsked, said StrictSaid) {
	w.Header().Set("Content-Type", "text/event-stream")
	delta, finish := map[string]any{"role": "assistant", "content": said.Text}, "stop"
	wrote := 1 + len(said.Text)/4
	var calls []any
	for i, c := range said.Calls {
		finish = "tool_calls"
		wrote += len(c.Args) / 4
		calls = append(calls, map[string]any{"index": i, "id": fmt.Sprintf("call_%d_%d", len(s.asked), i), "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": c.Args}})
	}
	if calls != nil {
		delta["tool_calls"] = calls
	}
	event := func(v any) {
		b, _ := json.Marshal(v)
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
	event(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}})
	event(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}})
	event(map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": min(asked.Tokens, s.Window), "completion_tokens": wrote, "total_tokens": min(asked.Tokens, s.Window) + wrote}})
	io.WriteString(w, "data: [DONE]\n\n")
}
