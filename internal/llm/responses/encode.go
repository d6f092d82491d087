package responses

import (
	"encoding/base64"
	"encoding/json"

	"ramet/internal/llm"
	"ramet/internal/llm/wire"
)

type request struct {
	Model       string     `json:"model"`
	Input       []any      `json:"input"`
	Tools       []tool     `json:"tools,omitempty"`
	MaxTokens   int64      `json:"max_output_tokens,omitempty"`
	Temperature *float64   `json:"temperature,omitempty"`
	Reasoning   *reasoning `json:"reasoning,omitempty"`
	Include     []string   `json:"include,omitempty"`
	Store       bool       `json:"store"`
	Stream      bool       `json:"stream"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary"`
}

type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type message struct {
	Type    string    `json:"type"`
	Role    string    `json:"role"`
	Content []content `json:"content"`
}

type content struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
}

type call struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type output struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

func (p *provider) encode(r llm.Request) (string, any) {
	out := request{Model: r.Model, MaxTokens: r.MaxTokens, Temperature: r.Temperature, Stream: true, Input: []any{}}
	if known := p.model(r.Model); known.Thinks || r.Effort != "" {
		effort := known.Nearest(r.Effort)
		if len(known.Efforts) == 0 {
			effort = string(r.Effort)
		}
		out.Reasoning = &reasoning{Effort: effort, Summary: "auto"}
		out.Include = []string{"reasoning.encrypted_content"}
		out.Temperature = nil // such models take none
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Schema})
	}
	for _, m := range r.Messages {
		out.Input = append(out.Input, items(m)...)
	}
	return "/responses", out
}

// items is a message as the protocol has it: a list in which texts, thoughts,
// calls and results stand side by side.
func items(m llm.Message) []any {
	var out []any
	var said *message
	say := func(c content) {
		if said == nil {
			said = &message{Type: "message", Role: string(m.Role)}
			if m.Role == llm.ToolRole {
				said.Role = "user"
			}
			out = append(out, said)
		}
		said.Content = append(said.Content, c)
	}
	kind := "input_text"
	if m.Role == llm.Assistant {
		kind = "output_text"
	}
	for _, p := range m.Parts {
		switch p.Type {
		case llm.Text:
			if p.Text != "" {
				say(content{Type: kind, Text: p.Text})
			}
			continue
		case llm.Image:
			say(content{Type: "input_image", ImageURL: "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)})
			continue
		case llm.Thinking:
			if p.Origin != Origin || p.Opaque == nil {
				continue
			}
			out = append(out, p.Opaque)
		case llm.ToolCall:
			out = append(out, call{"function_call", wire.CallID(p.CallID), p.Name, string(p.Args)})
		case llm.ToolResult:
			text := p.Text
			if p.IsError {
				text = "error: " + text // the protocol has no other place for it
			}
			out = append(out, output{"function_call_output", wire.CallID(p.CallID), text})
		}
		said = nil
	}
	return out
}
