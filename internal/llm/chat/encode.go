package chat

import (
	"encoding/base64"
	"encoding/json"

	"ramet/internal/llm"
	"ramet/internal/llm/wire"
)

type request struct {
	Model         string        `json:"model"`
	Messages      []any         `json:"messages"`
	Tools         []tool        `json:"tools,omitempty"`
	MaxTokens     int64         `json:"max_tokens,omitempty"`
	MaxCompletion int64         `json:"max_completion_tokens,omitempty"`
	Temperature   *float64      `json:"temperature,omitempty"`
	Effort        string        `json:"reasoning_effort,omitempty"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// message is of a fixed order of fields: what is hashed must not depend on a
// map's.
type message struct {
	Role       string          `json:"role"`
	Content    any             `json:"content"` // a string, a list of pieces, or null
	ToolCalls  []call          `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	Reasoning  string          `json:"reasoning,omitempty"`
	ReasoningC string          `json:"reasoning_content,omitempty"`
	Details    json.RawMessage `json:"reasoning_details,omitempty"`
}

type piece struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function callBody `json:"function"`
}

type callBody struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (p *provider) encode(r llm.Request) (string, any) {
	known := p.model(r.Model)
	out := request{Model: r.Model, Temperature: r.Temperature, Stream: true, StreamOptions: streamOptions{true}}
	if p.LongLimit {
		out.MaxCompletion = r.MaxTokens
	} else {
		out.MaxTokens = r.MaxTokens
	}
	if r.Effort != "" {
		out.Effort = string(r.Effort)
		if known.Name != "" && len(known.Efforts) > 0 {
			out.Effort = known.Nearest(r.Effort)
		} else if known.Name != "" && !known.Thinks {
			out.Effort = "" // it would be refused
		}
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{"function", function{t.Name, t.Description, t.Schema}})
	}
	for _, m := range r.Messages {
		if m.Role == llm.Assistant {
			if said, ok := p.assistant(m); ok {
				out.Messages = append(out.Messages, said)
			}
			continue
		}
		out.Messages = append(out.Messages, others(m)...)
	}
	return "/chat/completions", out
}

func (p *provider) assistant(m llm.Message) (message, bool) {
	out := message{Role: "assistant"}
	thought := ""
	for _, part := range m.Parts {
		switch part.Type {
		case llm.Thinking:
			if part.Origin == p.origin {
				thought += part.Text
				if part.Opaque != nil {
					out.Details = part.Opaque
				}
			}
		case llm.ToolCall:
			out.ToolCalls = append(out.ToolCalls, call{wire.CallID(part.CallID), "function", callBody{part.Name, string(part.Args)}})
		}
	}
	if out.Details == nil {
		switch p.Thoughts {
		case "reasoning":
			out.Reasoning = thought
		case "reasoning_content":
			out.ReasoningC = thought
		}
	}
	if text := m.Text(); text != "" {
		out.Content = text
	}
	return out, out.Content != nil || len(out.ToolCalls) > 0
}

// others is what is not the assistant's: each result is a message of its own,
// and texts with images a list of pieces.
func others(m llm.Message) []any {
	var out []any
	var pieces []piece
	plain := true
	for _, part := range m.Parts {
		switch part.Type {
		case llm.ToolResult:
			text := part.Text
			if part.IsError {
				text = "error: " + text // the protocol has no other place for it
			}
			out = append(out, message{Role: "tool", Content: text, ToolCallID: wire.CallID(part.CallID)})
		case llm.Text:
			if part.Text != "" {
				pieces = append(pieces, piece{Type: "text", Text: part.Text})
			}
		case llm.Image:
			plain = false
			url := "data:" + part.MediaType + ";base64," + base64.StdEncoding.EncodeToString(part.Data)
			pieces = append(pieces, piece{Type: "image_url", ImageURL: &imageURL{url}})
		}
	}
	if len(pieces) == 0 {
		return out
	}
	role := string(m.Role)
	if m.Role == llm.ToolRole {
		role = "user"
	}
	said := message{Role: role, Content: pieces}
	if plain { // older servers take nothing but a string
		said.Content = m.Text()
	}
	return append(out, said)
}
