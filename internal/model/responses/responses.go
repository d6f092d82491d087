// Package responses speaks OpenAI's Responses protocol.
//
// Nothing is stored at the vendor: the whole conversation goes along each time,
// and what the model thought comes and goes back encrypted, item by item, as it
// came. Thinking of other vendors is left out. Summaries of it for people are asked
// for unless the vendor refuses them, as it does to organisations that it does not
// know: then they are left out as long as the provider lives.
package responses

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync/atomic"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// ResponsesOrigin marks what only this protocol can read.
const ResponsesOrigin = "openai-responses"

type provider struct {
	client  *wire.Client
	model   func(string) llm.Model
	private atomic.Bool // summaries were refused
}

// New makes a provider. The base URL is given with /v1.
func New(o wire.Options) llm.Provider {
	return &provider{client: o.Client(o.Auth("Authorization", "Bearer ")), model: o.Model}
}

func (p *provider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		private := p.private.Load()
		refused := func(err error) bool { return !private && summariesRefused(err) }
		if _, over := llm.PassOn(p.client.Ask(ctx, r, p.encode, newDecoder), refused, yield); !over {
			p.private.Store(true)
			p.client.Ask(ctx, r, p.encode, newDecoder)(yield)
		}
	}
}

// summariesRefused reports whether a request failed because it asked for summaries.
func summariesRefused(err error) bool {
	why, ok := errors.AsType[*llm.Failure](err)
	return ok && fault.Is(err, fault.ProviderBadRequest) && (why.Param == "reasoning.summary" || strings.Contains(strings.ToLower(why.Says), "reasoning summaries"))
}

type request struct {
	Model       string     `json:"model"`
	Input       []any      `json:"input"`
	Tools       []any      `json:"tools,omitempty"`
	ToolChoice  string     `json:"tool_choice,omitempty"`
	Text        *text      `json:"text,omitempty"`
	MaxTokens   int64      `json:"max_output_tokens,omitempty"`
	Temperature *float64   `json:"temperature,omitempty"`
	Reasoning   *reasoning `json:"reasoning,omitempty"`
	Include     []string   `json:"include,omitempty"`
	CacheKey    string     `json:"prompt_cache_key,omitempty"`
	Store       bool       `json:"store"`
	Stream      bool       `json:"stream"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

type text struct {
	Format format `json:"format"`
}

type format struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// own is a tool of the vendor's.
type own struct {
	Type string `json:"type"`
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
	Phase   string    `json:"phase,omitempty"`
	Content []content `json:"content"`
}

type content struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	FileName string `json:"filename,omitempty"`
	FileData string `json:"file_data,omitempty"`
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
	out := request{Model: r.Model, MaxTokens: r.MaxTokens, Temperature: r.Temperature, CacheKey: r.CacheKey, Stream: true, Input: []any{}}
	known := p.model(r.Model)
	if word := known.Think(r.Effort); word != "" || known.Thinks {
		out.Reasoning = &reasoning{Effort: word}
		if !p.private.Load() {
			out.Reasoning.Summary = "auto"
		}
		out.Include = []string{"reasoning.encrypted_content"}
		out.Temperature = nil // such models take none
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Schema})
	}
	if r.Search && known.Search {
		out.Tools = append(out.Tools, own{"web_search"})
	}
	if r.NoCalls && len(out.Tools) > 0 {
		out.ToolChoice = "none"
	}
	if schema, strict, ok := wire.Whole(r); ok {
		out.Text = &text{format{"json_schema", "answer", schema, strict}}
	}
	ids := wire.CallIDs(r, ResponsesOrigin)
	for _, m := range r.Messages {
		out.Input = append(out.Input, itemsOf(m, ids)...)
	}
	return "/responses", out
}

// itemsOf returns a message as the protocol has it: a list in which texts, thoughts,
// calls and results stand side by side.
func itemsOf(m llm.Message, ids wire.IDs) []any {
	var out []any
	var said *message
	say := func(c content, phase string) {
		if said == nil || said.Phase != phase {
			said = &message{Type: "message", Role: string(m.Role), Phase: phase}
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
				say(content{Type: kind, Text: p.Text}, phaseOf(p))
			}
			continue
		case llm.Image:
			say(content{Type: "input_image", ImageURL: wire.DataURL(p)}, "")
			continue
		case llm.Document:
			say(content{Type: "input_file", FileName: wire.FileName(p), FileData: wire.DataURL(p)}, "")
			continue
		case llm.Thinking, llm.Search:
			if p.Origin != ResponsesOrigin || p.Opaque == nil {
				continue
			}
			out = append(out, p.Opaque)
		case llm.ToolCall:
			out = append(out, call{"function_call", ids.Of(p.CallID), p.Name, string(p.Args)})
		case llm.ToolResult:
			out = append(out, output{"function_call_output", ids.Of(p.CallID), p.Failure()})
		}
		said = nil
	}
	return out
}

// spoken holds the properties of a message besides its text.
type spoken struct {
	Phase string `json:"phase"`
}

// phaseOf reports whether a text was said on the way or at the end. The newer models
// want it back.
func phaseOf(p llm.Part) string {
	var kept spoken
	if p.Origin == ResponsesOrigin && p.Opaque != nil {
		json.Unmarshal(p.Opaque, &kept) // what is not ours has none
	}
	return kept.Phase
}
