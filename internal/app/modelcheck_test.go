package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// turnOf is a message of a request, whatever the vendor calls its parts.
type turnOf struct {
	role    string // user, assistant or system
	text    string
	calls   []string
	results []string
	newest  string // its last words, where there are several
	paused  bool   // it ends with a search of the server's, which goes on with it
}

// check refuses what the vendor would refuse. newest is the last message.
func (s *modelServer) check(r *http.Request, body []byte) (newest string, err error) {
	if !json.Valid(body) {
		return "", errors.New("the body is not JSON")
	}
	if r.Method != "POST" || !matches(s.wire.path, r.URL.Path) {
		return "", fmt.Errorf("%s %s", r.Method, r.URL.Path)
	}
	if got := r.Header.Get(s.wire.header); got != s.wire.prefix+s.key {
		return "", fmt.Errorf("%s is %q", s.wire.header, got)
	}
	if strings.Contains(string(body)+r.URL.String(), s.key) {
		return "", errors.New("the key is in the request")
	}
	if err := s.strict(body); err != nil {
		return "", err
	}
	turns, err := s.wire.history(body)
	if err != nil {
		return "", err
	}
	if err := acceptable(turns); err != nil {
		return "", err
	}
	for what, signature := range s.debts {
		if strings.Contains(string(body), quoted(what)) && !strings.Contains(string(body), quoted(signature)) {
			return "", fmt.Errorf("%s came back without its signature %s", what, signature)
		}
	}
	last := turns[len(turns)-1]
	if last.newest != "" {
		return last.newest, nil
	}
	return last.text + " " + strings.Join(last.results, " "), nil
}

// acceptable demands that each call is answered at once, once, and nothing else is.
func acceptable(turns []turnOf) error {
	if len(turns) == 0 {
		return errors.New("nothing is asked")
	}
	begun := false
	var open []string
	seen := map[string]bool{}
	for i, t := range turns {
		if t.role == "system" {
			continue
		}
		if !begun && t.role != "user" {
			return errors.New("the assistant speaks first")
		}
		begun = true
		for _, r := range t.results {
			n := slices.Index(open, r)
			if n < 0 {
				return fmt.Errorf("message %d answers %s, which was not called just before", i, r)
			}
			open = slices.Delete(open, n, n+1)
		}
		if len(open) > 0 && (t.text != "" || len(t.calls) > 0) {
			return fmt.Errorf("message %d comes before the results of %v", i, open)
		}
		for _, c := range t.calls {
			if seen[c] {
				return fmt.Errorf("two calls are named %s", c)
			}
			seen[c] = true
			open = append(open, c)
		}
		if t.text == "" && len(t.calls)+len(t.results) == 0 && !t.paused {
			return fmt.Errorf("message %d is empty", i)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("no results of %v", open)
	}
	if last := turns[len(turns)-1]; last.role == "assistant" && !last.paused {
		return errors.New("the assistant has the last word")
	}
	return nil
}

func anthropicHistory(body []byte) ([]turnOf, error) {
	var q struct {
		MaxTokens int64 `json:"max_tokens"`
		Messages  []struct {
			Role    string
			Content []struct {
				Type, Text, ID, ToolUseID string
				Thinking, Signature       string
				Tool                      string          `json:"tool_use_id"`
				Content                   json.RawMessage `json:"content"`
				Input                     map[string]any
			}
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	if q.MaxTokens < 1 {
		return nil, errors.New("max_tokens is missing")
	}
	var out []turnOf
	for i, m := range q.Messages {
		t := turnOf{role: m.Role}
		if i > 0 && q.Messages[i-1].Role == m.Role {
			return nil, fmt.Errorf("%s speaks twice in a row", m.Role)
		}
		for j, c := range m.Content {
			t.paused = c.Type == "server_tool_use" || c.Type == "web_search_tool_result"
			switch c.Type {
			case "text":
				if strings.TrimSpace(c.Text) == "" {
					return nil, errors.New("text content blocks must be non-empty")
				}
				t.text, t.newest = t.text+c.Text, c.Text
			case "tool_use":
				t.calls = append(t.calls, c.ID)
			case "tool_result":
				if j > 0 && m.Content[j-1].Type != "tool_result" {
					return nil, errors.New("results must come first")
				}
				t.results = append(t.results, c.Tool)
			case "thinking":
				if c.Signature == "" {
					return nil, errors.New("thinking without a signature")
				}
			}
		}
		out = append(out, t)
	}
	return out, nil
}

func responsesHistory(body []byte) ([]turnOf, error) {
	var q struct {
		Input []struct {
			Type, Role string
			CallID     string `json:"call_id"`
			Encrypted  string `json:"encrypted_content"`
			Content    []struct{ Text string }
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	var out []turnOf
	for i, item := range q.Input {
		switch item.Type {
		case "message":
			t := turnOf{role: item.Role}
			for _, c := range item.Content {
				t.text += c.Text
			}
			out = append(out, t)
		case "function_call":
			// The items of one answer are one message.
			if n := len(out); n > 0 && out[n-1].role == "assistant" {
				out[n-1].calls = append(out[n-1].calls, item.CallID)
				continue
			}
			out = append(out, turnOf{role: "assistant", calls: []string{item.CallID}})
		case "function_call_output":
			out = append(out, turnOf{role: "user", results: []string{item.CallID}})
		case "reasoning":
			if item.Encrypted == "" || i == len(q.Input)-1 ||
				q.Input[i+1].Type != "function_call" && q.Input[i+1].Role != "assistant" && q.Input[i+1].Type != "reasoning" {
				return nil, errors.New("reasoning without its content or without the item that follows it")
			}
		}
	}
	return out, nil
}

func chatHistory(body []byte) ([]turnOf, error) {
	var q struct {
		Messages []struct {
			Role      string
			Content   any
			Call      string `json:"tool_call_id"`
			ToolCalls []struct {
				ID       string
				Function struct{ Arguments string }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	var out []turnOf
	for _, m := range q.Messages {
		t := turnOf{role: m.Role}
		if m.Content != nil {
			t.text = fmt.Sprint(m.Content)
		}
		if m.Role == "tool" {
			t = turnOf{role: "user", results: []string{m.Call}}
		}
		for _, c := range m.ToolCalls {
			if !json.Valid([]byte(c.Function.Arguments)) {
				return nil, errors.New("arguments that are no JSON")
			}
			t.calls = append(t.calls, c.ID)
		}
		out = append(out, t)
	}
	return out, nil
}

func geminiHistory(body []byte) ([]turnOf, error) {
	var q struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Text             string
				ThoughtSignature string
				FunctionCall     *struct{ ID string }
				FunctionResponse *struct{ ID string }
			}
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	var out []turnOf
	for i, m := range q.Contents {
		if i > 0 && q.Contents[i-1].Role == m.Role {
			return nil, fmt.Errorf("%s speaks twice in a row", m.Role)
		}
		t := turnOf{role: strings.Replace(m.Role, "model", "assistant", 1)}
		for _, p := range m.Parts {
			t.text += p.Text
			if p.FunctionCall != nil {
				if len(t.calls) == 0 && p.ThoughtSignature == "" {
					return nil, errors.New("the first call of a message has no signature")
				}
				t.calls = append(t.calls, p.FunctionCall.ID)
			}
			if p.FunctionResponse != nil {
				t.results = append(t.results, p.FunctionResponse.ID)
			}
		}
		out = append(out, t)
	}
	return out, nil
}
