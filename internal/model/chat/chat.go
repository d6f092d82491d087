// Package chat speaks OpenAI's Chat Completions protocol, which many servers
// speak besides: Ollama, llama.cpp, vLLM, OpenRouter and others.
//
// It takes what they differ in as it comes: calls in pieces or at once, with or
// without an index or an id; thinking as reasoning_content or reasoning; usage in
// a chunk of its own or not at all. Thinking goes back to the server it came from
// where that server wants it (Dialect.Thoughts, reasoning_details), and nowhere
// else.
package chat

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// Dialect describes the differences between servers.
type Dialect struct {
	// Thoughts is the field in which a server wants plain thinking back; empty
	// where it wants none.
	Thoughts string
	// LongLimit: the limit of an answer is max_completion_tokens, not max_tokens.
	LongLimit bool
	// CacheKey: it takes prompt_cache_key.
	CacheKey bool
	// Marks: models whose names begin so want to be told what to cache, and the
	// server passes it on.
	Marks string
	// Cost: it says what it charged when asked to.
	Cost bool
	// Forms names how it holds an answer to a schema: Schema, Object, Apart; empty: it
	// cannot.
	Forms string
	// Plugin is its own search of the web; empty: it has none.
	Plugin string
}

// How a server holds an answer to a schema.
const (
	Schema = "schema" // it takes the schema
	Apart  = "apart"  // it takes it where the model may call no tools: it would keep it from calling any
	Object = "object" // it takes nothing but that an object is wanted
)

type provider struct {
	client *wire.Client
	model  func(string) llm.Model
	Dialect
	origin string
}

// New makes a provider. The base URL is given with /v1, where the server has it.
func New(o wire.Options, d Dialect) llm.Provider {
	return &provider{o.Client(o.Auth("Authorization", "Bearer ")), o.Model, d, "chat/" + o.Vendor}
}

func (p *provider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return p.client.Ask(ctx, r, p.encode, func() wire.Decoder {
		return &decoder{parts: wire.Parts{Origin: p.origin}, calls: map[int]int{}, text: -1, thought: -1}
	})
}

type request struct {
	Model         string        `json:"model"`
	Messages      []message     `json:"messages"`
	Tools         []tool        `json:"tools,omitempty"`
	MaxTokens     int64         `json:"max_tokens,omitempty"`
	MaxCompletion int64         `json:"max_completion_tokens,omitempty"`
	Temperature   *float64      `json:"temperature,omitempty"`
	Effort        string        `json:"reasoning_effort,omitempty"`
	CacheKey      string        `json:"prompt_cache_key,omitempty"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
	Usage         *include      `json:"usage,omitempty"`
	ToolChoice    string        `json:"tool_choice,omitempty"`
	Format        *format       `json:"response_format,omitempty"`
	Plugins       []plugin      `json:"plugins,omitempty"`
}

// format describes the form of an answer.
type format struct {
	Type   string      `json:"type"`
	Schema *jsonSchema `json:"json_schema,omitempty"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

type plugin struct {
	ID string `json:"id"`
}

type include struct {
	Include bool `json:"include"`
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
	Type     string        `json:"type"`
	Text     string        `json:"text,omitempty"`
	ImageURL *imageURL     `json:"image_url,omitempty"`
	File     *file         `json:"file,omitempty"`
	Cache    *cacheControl `json:"cache_control,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type file struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
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
	out := request{Model: r.Model, Temperature: r.Temperature, Stream: true, StreamOptions: streamOptions{true}}
	if p.LongLimit {
		out.MaxCompletion = r.MaxTokens
	} else {
		out.MaxTokens = r.MaxTokens
	}
	known := p.model(r.Model)
	out.Effort = known.Think(r.Effort)
	if p.CacheKey {
		out.CacheKey = r.CacheKey
	}
	if p.Cost {
		out.Usage = &include{true}
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{"function", function{t.Name, t.Description, t.Schema}})
	}
	if p.Plugin != "" && r.Search && known.Search {
		out.Plugins = []plugin{{p.Plugin}}
	}
	p.form(&out, r)
	d := dialogue{provider: p, ids: wire.CallIDs(r, p.origin)}
	marks := p.marks(r)
	for i, m := range r.Messages {
		from := len(out.Messages)
		if m.Role == llm.Assistant {
			if said, ok := d.assistant(m); ok {
				out.Messages = append(out.Messages, said)
			}
		} else {
			out.Messages = append(out.Messages, d.others(m)...)
		}
		if marks != nil {
			asLists(out.Messages[from:])
		}
		if slices.Contains(marks, i) {
			markLastText(out.Messages[from:], r.CacheHour)
		}
	}
	return "/chat/completions", out
}

// form asks for an answer that fits the schema of the request, and for no calls if
// none are wanted.
func (p *provider) form(out *request, r llm.Request) {
	if r.NoCalls && len(out.Tools) > 0 {
		out.ToolChoice = "none"
	}
	schema, strict, ok := wire.Whole(r)
	switch {
	case !ok:
		return
	case p.Forms == Object:
		out.Format = &format{Type: "json_object"}
		return
	case p.Forms == Apart && len(out.Tools) > 0:
		if !r.NoCalls {
			return
		}
		out.Tools, out.ToolChoice = nil, ""
	case p.Forms != Apart && p.Forms != Schema:
		return
	}
	out.Format = &format{"json_schema", &jsonSchema{"answer", schema, strict}}
}

// marks returns the messages after which a cache is to begin, where the server passes
// that on to a model that wants to be told.
func (p *provider) marks(r llm.Request) []int {
	if p.Marks == "" || !strings.HasPrefix(r.Model, p.Marks) {
		return nil
	}
	return wire.Marks(r.CacheAfter)
}

// asLists makes a list of each text that stands alone: a message must not look
// otherwise when its mark is gone, or what was cached would not be found again.
func asLists(messages []message) {
	for i := range messages {
		if text, alone := messages[i].Content.(string); alone && text != "" {
			messages[i].Content = []piece{{Type: "text", Text: text}}
		}
	}
}

// markLastText marks the last text of the messages.
func markLastText(messages []message, hour bool) {
	control := &cacheControl{Type: "ephemeral"}
	if hour {
		control.TTL = "1h"
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if content, ok := messages[i].Content.([]piece); ok {
			content[len(content)-1].Cache = control
			return
		}
	}
}

// dialogue is a conversation with one server.
type dialogue struct {
	*provider
	ids wire.IDs
}

func (t dialogue) assistant(m llm.Message) (message, bool) {
	out := message{Role: "assistant"}
	thought := ""
	for _, part := range m.Parts {
		if part.Origin == t.origin && part.Opaque != nil {
			out.Details = part.Opaque
		}
		switch part.Type {
		case llm.Thinking:
			if part.Origin == t.origin {
				thought += part.Text
			}
		case llm.ToolCall:
			out.ToolCalls = append(out.ToolCalls, call{t.ids.Of(part.CallID), "function", callBody{part.Name, string(part.Args)}})
		}
	}
	if out.Details == nil {
		switch t.Thoughts {
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

// others returns what is not the assistant's: each result is a message of its own,
// and texts with images a list of pieces.
func (t dialogue) others(m llm.Message) []message {
	var out []message
	var pieces []piece
	plain := true
	for _, part := range m.Parts {
		switch part.Type {
		case llm.ToolResult:
			out = append(out, message{Role: "tool", Content: part.Failure(), ToolCallID: t.ids.Of(part.CallID)})
		case llm.Text:
			if part.Text != "" {
				pieces = append(pieces, piece{Type: "text", Text: part.Text})
			}
		case llm.Image:
			plain = false
			pieces = append(pieces, piece{Type: "image_url", ImageURL: &imageURL{wire.DataURL(part)}})
		case llm.Document:
			plain = false
			pieces = append(pieces, piece{Type: "file", File: &file{wire.FileName(part), wire.DataURL(part)}})
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
