package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"ramet/internal/llm"
	"ramet/internal/llm/wire"
)

type request struct {
	Model        string        `json:"model"`
	MaxTokens    int64         `json:"max_tokens"`
	System       []block       `json:"system,omitempty"`
	Messages     []message     `json:"messages"`
	Tools        []tool        `json:"tools,omitempty"`
	Temperature  *float64      `json:"temperature,omitempty"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Stream       bool          `json:"stream"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int64  `json:"budget_tokens,omitempty"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

// block is any piece of content. raw is sent as it is, instead of the rest.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Source    *source         `json:"source,omitempty"`
	Cache     *cacheControl   `json:"cache_control,omitempty"`

	raw json.RawMessage
}

type plainBlock block // without the method

func (b block) MarshalJSON() ([]byte, error) {
	if b.raw != nil {
		return b.raw, nil
	}
	return wire.Marshal(plainBlock(b))
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

type cacheControl struct {
	Type string `json:"type"`
}

func (p *provider) encode(r llm.Request) (string, any) {
	known := p.model(r.Model)
	out := request{Model: r.Model, MaxTokens: r.MaxTokens, Temperature: r.Temperature, Stream: true, Messages: []message{}}
	if out.MaxTokens <= 0 {
		out.MaxTokens = known.Output
	}
	if out.MaxTokens <= 0 {
		out.MaxTokens = fallbackTokens
	}
	think(&out, r.Effort, known)
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{t.Name, t.Description, t.Schema})
	}
	marks := marked(r.CacheAfter)
	leading := true
	for i, m := range r.Messages {
		blocks := blocksOf(m, leading)
		if slices.Contains(marks, i) {
			markLast(blocks)
		}
		if m.Role == llm.System && leading {
			out.System = append(out.System, blocks...)
			continue
		}
		leading = false
		out.add(m.Role, blocks)
	}
	return "/v1/messages", out
}

// think asks for thinking. Models since 4.6 decide themselves how much and take
// an effort; before, they take a budget within the limit of the answer.
func think(out *request, e llm.Effort, known llm.Model) {
	if e == "" || !known.Thinks {
		return
	}
	if slices.Contains(known.Efforts, "max") {
		out.Thinking, out.OutputConfig = &thinking{Type: "adaptive"}, &outputConfig{known.Nearest(e)}
	} else {
		budget := map[llm.Effort]int64{llm.Low: 2048, llm.Medium: 8192, llm.High: 24576}[e]
		budget = min(budget, out.MaxTokens/2)
		if budget < 1024 { // the least that is allowed
			return
		}
		out.Thinking = &thinking{Type: "enabled", Budget: budget}
	}
	out.Temperature = nil // not allowed beside thinking
}

// add appends blocks to the message of the same speaker, or begins one: results
// and what the user says after them are one message, results first.
func (r *request) add(role llm.Role, blocks []block) {
	if len(blocks) == 0 {
		return
	}
	who := "user"
	if role == llm.Assistant {
		who = "assistant"
	}
	n := len(r.Messages)
	if n == 0 || r.Messages[n-1].Role != who {
		r.Messages = append(r.Messages, message{Role: who})
		n++
	}
	last := &r.Messages[n-1]
	last.Content = append(last.Content, blocks...)
	if who == "user" {
		slices.SortStableFunc(last.Content, func(a, b block) int { return rank(a) - rank(b) })
	}
}

func rank(b block) int {
	if b.Type == "tool_result" {
		return 0
	}
	return 1
}

func blocksOf(m llm.Message, leading bool) []block {
	var out []block
	for _, p := range m.Parts {
		switch p.Type {
		case llm.Text:
			text := p.Text
			if strings.TrimSpace(text) == "" {
				continue // refused by the server
			}
			if m.Role == llm.System && !leading {
				text = "<system>\n" + text + "\n</system>"
			}
			out = append(out, block{Type: "text", Text: text})
		case llm.Thinking:
			if p.Origin != Origin {
				continue
			}
			if p.Opaque != nil {
				out = append(out, block{Type: "redacted_thinking", raw: p.Opaque})
			} else if p.Signature != "" {
				out = append(out, block{Type: "thinking", Thinking: &p.Text, Signature: p.Signature})
			}
		case llm.ToolCall:
			out = append(out, block{Type: "tool_use", ID: wire.CallID(p.CallID), Name: p.Name, Input: p.Args})
		case llm.ToolResult:
			out = append(out, block{Type: "tool_result", ToolUseID: wire.CallID(p.CallID), Content: p.Text, IsError: p.IsError})
		case llm.Image:
			out = append(out, block{Type: "image", Source: &source{"base64", p.MediaType, p.Data}})
		}
	}
	return out
}

// marked keeps four marks: the first, which covers tools and system prompt, and
// the last three.
func marked(marks []int) []int {
	marks = slices.Compact(slices.Sorted(slices.Values(marks)))
	if len(marks) > 4 {
		marks = append(marks[:1:1], marks[len(marks)-3:]...)
	}
	return marks
}

// markLast marks the last block that can be: thinking cannot.
func markLast(blocks []block) {
	for i := len(blocks) - 1; i >= 0; i-- {
		if t := blocks[i].Type; t != "thinking" && t != "redacted_thinking" {
			blocks[i].Cache = &cacheControl{"ephemeral"}
			return
		}
	}
}
