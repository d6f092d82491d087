package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"ramet/internal/llm"
)

// request is the body; what is left out here stands before the rest (see
// AppendJSON).
type request struct {
	Model     string    `json:"-"`
	MaxTokens int64     `json:"-"`
	System    []block   `json:"-"`
	Messages  []message `json:"-"`

	Tools        []tool        `json:"tools,omitempty"`
	Temperature  *float64      `json:"temperature,omitempty"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Stream       bool          `json:"stream"`
}

type message struct {
	Role    string
	Content []block
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

func (p *provider) encode(r llm.Request) (string, any) {
	known := p.model(r.Model)
	out := request{Model: r.Model, MaxTokens: r.MaxTokens, Temperature: r.Temperature, Stream: true, Messages: make([]message, 0, len(r.Messages))}
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
	if last.Content == nil {
		last.Content = blocks
	} else {
		last.Content = append(last.Content, blocks...)
	}
	if who == "user" {
		slices.SortStableFunc(last.Content, func(a, b block) int { return a.rank() - b.rank() })
	}
}

func blocksOf(m llm.Message, leading bool) []block {
	out := make([]block, 0, len(m.Parts))
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Type {
		case llm.Text:
			if strings.TrimSpace(p.Text) != "" { // refused by the server
				out = append(out, block{part: p, aside: m.Role == llm.System && !leading})
			}
		case llm.Thinking:
			if p.Origin == Origin && (p.Opaque != nil || p.Signature != "") {
				out = append(out, block{part: p})
			}
		case llm.ToolCall, llm.ToolResult, llm.Image:
			out = append(out, block{part: p})
		}
	}
	for m.Role == llm.Assistant && len(out) > 0 && out[len(out)-1].part.Type == llm.Thinking {
		out = out[:len(out)-1] // refused too; a blank text stood behind it
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
		if blocks[i].part.Type != llm.Thinking {
			blocks[i].cache = true
			return
		}
	}
}
