// Package anthropic speaks Anthropic's Messages protocol.
//
// Thinking goes back with its signature, redacted thinking as it came; that of
// other vendors is left out. Leading system messages are the system prompt;
// later ones become user texts in <system> tags, since the protocol has no place
// for them. Cache marks become cache_control, of which the protocol allows four.
package anthropic

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"iter"
	"net/url"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/jsonschema"
	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// Origin marks what only this protocol can read.
const Origin = "anthropic"

// fallbackTokens is the limit of an answer where nobody knows the model's; the
// protocol demands one. Every model since Claude 4 may write as much.
const fallbackTokens = 32000

// Host describes a host that speaks the protocol differently from Anthropic's.
type Host struct {
	// Framed is Amazon's: the model stands in the path and not in the body, which
	// names its version instead, and answers come in frames.
	Framed bool
	// Below is Google's: the models stand below this path, not in the body, which
	// names its version instead.
	Below string
}

// What Amazon and Google call the protocol.
const (
	framedVersion = "bedrock-2023-05-31"
	belowVersion  = "vertex-2023-10-16"
)

type provider struct {
	client *wire.Client
	model  func(string) llm.Model
	Host
}

// At makes a provider for a host of the protocol; the zero value is Anthropic's own. The base URL is given without /v1.
func At(o wire.Options, at Host) llm.Provider {
	h := o.Auth("X-Api-Key", "")
	if at == (Host{}) {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	o.Base = strings.TrimSuffix(strings.TrimRight(o.Base, "/"), "/v1")
	return &provider{o.Client(h), o.Model, at}
}

func (p *provider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return p.client.Ask(ctx, r, p.encode, newDecoder)
}

// request is the body.
type request struct {
	Model        string        `json:"model,omitempty"`
	MaxTokens    int64         `json:"max_tokens"`
	System       []block       `json:"system,omitempty"`
	Messages     []message     `json:"messages"`
	Tools        []tool        `json:"tools,omitempty"`
	ToolChoice   *toolChoice   `json:"tool_choice,omitempty"`
	Temperature  *float64      `json:"temperature,omitempty"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Stream       bool          `json:"stream,omitempty"`
	Version      string        `json:"anthropic_version,omitempty"` // instead of model and stream
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// tool is one of ours or, with a type, one of the server's own.
type tool struct {
	Type        string          `json:"type,omitempty"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	MaxUses     int             `json:"max_uses,omitempty"`
}

// webSearch is the server's own.
var webSearch = tool{Type: "web_search_20250305", Name: "web_search", MaxUses: 5}

type toolChoice struct {
	Type string `json:"type"`
}

type thinking struct {
	Type    string `json:"type"`
	Budget  int64  `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"`
}

type outputConfig struct {
	Effort string  `json:"effort,omitempty"`
	Format *format `json:"format,omitempty"`
}

type format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

func (p *provider) encode(r llm.Request) (string, any) {
	known := p.model(r.Model)
	out := request{Model: r.Model, MaxTokens: r.MaxTokens, Temperature: r.Temperature, Stream: true, Messages: make([]message, 0, len(r.Messages))}
	out.MaxTokens = cmp.Or(out.MaxTokens, known.Output, fallbackTokens)
	setThinking(&out, r, known)
	ids := wire.CallIDs(r, Origin)
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema})
	}
	if r.Search && known.Search && !slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Name == webSearch.Name }) {
		out.Tools = append(out.Tools, webSearch)
	}
	if r.NoCalls && len(out.Tools) > 0 {
		out.ToolChoice = &toolChoice{"none"}
	}
	// At Google's it is off unless an organisation allows it.
	if schema, ok := wire.Form(r, jsonschema.Anthropic); ok && p.Below == "" {
		if out.OutputConfig == nil {
			out.OutputConfig = &outputConfig{}
		}
		out.OutputConfig.Format = &format{"json_schema", schema}
	}
	marks := wire.Marks(r.CacheAfter)
	answered, found := findSearches(r.Messages)
	leading := true
	for i, m := range r.Messages {
		blocks := blocksOf(m, leading, ids)
		if i < answered {
			blocks = slices.DeleteFunc(blocks, func(b block) bool { return isUnanswered(b, found) })
		}
		blocks = trimThoughts(m.Role, blocks)
		if slices.Contains(marks, i) {
			markLast(blocks, r.CacheHour)
		}
		if m.Role == llm.System && leading {
			out.System = append(out.System, blocks...)
			continue
		}
		leading = false
		out.add(m.Role, blocks)
	}
	if p.Below != "" {
		out.Model, out.Version = "", belowVersion
		return p.Below + url.PathEscape(r.Model) + ":streamRawPredict", out
	}
	if p.Framed {
		out.Model, out.Version, out.Stream = "", framedVersion, false
		return "/model/" + url.QueryEscape(r.Model) + "/invoke-with-response-stream", out
	}
	return "/v1/messages", out
}

// setThinking asks for thinking. Models since 4.6, and those that are not known yet,
// decide themselves how much and take an effort; before, they take a budget within
// the limit of the answer. The newer ones do not show what they think unless told.
func setThinking(out *request, r llm.Request, known llm.Model) {
	if known.Steady {
		out.Temperature = nil
	}
	word := known.Think(r.Effort)
	adaptive := !known.Known || slices.Contains(known.Efforts, string(llm.Max))
	switch {
	case word == "" || mustNotThink(r.Messages, adaptive):
		return
	case r.Effort == llm.Off:
		out.Thinking = &thinking{Type: "disabled"}
		return
	case adaptive:
		out.Thinking, out.OutputConfig = &thinking{Type: "adaptive"}, &outputConfig{Effort: word}
		if known.Quiet || !known.Known {
			out.Thinking.Display = "summarized"
		}
	default:
		budget := budgets[r.Effort]
		budget = min(budget, out.MaxTokens/2)
		if budget < 1024 { // the least that is allowed
			return
		}
		out.Thinking = &thinking{Type: "enabled", Budget: budget}
	}
	out.Temperature = nil // not allowed beside thinking
}

var budgets = map[llm.Effort]int64{llm.Minimal: 1024, llm.Low: 2048, llm.Medium: 8192, llm.High: 24576, llm.XHigh: 32768, llm.Max: 49152}

// mustNotThink reports whether the calls whose results come last were not made by a model that
// thought here: the server refuses to go on with them thinking. Where the model
// decides itself whether to think, only another vendor's calls count.
func mustNotThink(messages []llm.Message, adaptive bool) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if m.Role == llm.User {
			return false // the loop is closed
		}
		if m.Role != llm.Assistant || len(m.Calls()) == 0 {
			continue
		}
		own := slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
			return p.Origin == Origin && (p.Type == llm.Thinking && (p.Signature != "" || p.Opaque != nil) || adaptive && p.Type == llm.ToolCall)
		})
		return !own
	}
	return false
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
		slices.SortStableFunc(last.Content, func(a, b block) int { return a.rank() - b.rank() })
	}
}

// blocksOf returns what a message is sent as.
func blocksOf(m llm.Message, leading bool, ids wire.IDs) (out []block) {
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
		case llm.Search:
			if p.Origin == Origin && p.Opaque != nil {
				out = append(out, block{part: p})
			}
		case llm.ToolCall, llm.ToolResult, llm.Image, llm.Document:
			out = append(out, block{part: p, id: ids.Of(p.CallID)})
		}
	}
	return out
}

// trimThoughts leaves out thoughts at the end of an answer, which are refused too: a blank
// text or a search without an answer stood behind them.
func trimThoughts(role llm.Role, blocks []block) []block {
	for role == llm.Assistant && len(blocks) > 0 && blocks[len(blocks)-1].part.Type == llm.Thinking {
		blocks = blocks[:len(blocks)-1]
	}
	return blocks
}

// markLast marks the last block that can be: what goes back as it came cannot.
func markLast(blocks []block, hour bool) {
	for i := len(blocks) - 1; i >= 0; i-- {
		if t := blocks[i].part.Type; t != llm.Thinking && t != llm.Search {
			blocks[i].cache = "5m"
			if hour {
				blocks[i].cache = "1h"
			}
			return
		}
	}
}

// block is a part of a message on its way to the server.
type block struct {
	part  *llm.Part
	aside bool   // a system message among those of the user
	id    string // of a call or result, as it is sent
	cache string // how long the conversation up to here is cached: "5m" or "1h"; "" for not
}

// rank orders results before everything else.
func (b block) rank() int {
	if b.part.Type == llm.ToolResult {
		return 0
	}
	return 1
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

// MarshalJSONTo implements jsonv2.MarshalerTo. What the server gave us to keep is sent as it came. A request has
// thousands of blocks: their tokens take half as long as a struct that has the members of all kinds.
func (b block) MarshalJSONTo(enc *jsontext.Encoder) error {
	p := b.part
	if p.Opaque != nil && (p.Type == llm.Thinking || p.Type == llm.Search) {
		return enc.WriteValue(jsontext.Value(p.Opaque))
	}
	w := objectWriter{enc: enc}
	w.token(jsontext.BeginObject)
	switch p.Type {
	case llm.Text:
		text := p.Text
		if b.aside {
			text = "<system>\n" + text + "\n</system>"
		}
		w.add("type", "text")
		w.add("text", text)
		if cited := citationsOf(p); len(cited) > 0 {
			w.addValue("citations", cited)
		}
	case llm.Thinking:
		w.add("type", "thinking")
		w.add("thinking", p.Text)
		w.addNonempty("signature", p.Signature)
	case llm.ToolCall:
		w.add("type", "tool_use")
		w.addNonempty("id", b.id)
		w.addNonempty("name", p.Name)
		if len(p.Args) > 0 {
			w.addRaw("input", p.Args)
		}
	case llm.ToolResult:
		w.add("type", "tool_result")
		w.addNonempty("tool_use_id", b.id)
		w.addNonempty("content", p.Text)
		if p.IsError {
			w.addValue("is_error", true)
		}
	case llm.Image, llm.Document:
		w.add("type", string(p.Type))
		w.addValue("source", source{"base64", p.MediaType, base64.StdEncoding.EncodeToString(p.Data)})
		if p.Type == llm.Document {
			w.addNonempty("title", p.Name)
		}
	}
	switch b.cache {
	case "5m": // the default
		w.addValue("cache_control", cacheControl{Type: "ephemeral"})
	case "1h":
		w.addValue("cache_control", cacheControl{Type: "ephemeral", TTL: "1h"})
	}
	w.token(jsontext.EndObject)
	return w.err
}

// objectWriter writes the members of an object, up to the first error.
type objectWriter struct {
	enc *jsontext.Encoder
	err error
}

func (w *objectWriter) token(t jsontext.Token) {
	if w.err == nil {
		w.err = w.enc.WriteToken(t)
	}
}

func (w *objectWriter) add(name, value string) {
	w.token(jsontext.String(name))
	w.token(jsontext.String(value))
}

func (w *objectWriter) addNonempty(name, value string) {
	if value != "" {
		w.add(name, value)
	}
}

func (w *objectWriter) addRaw(name string, value []byte) {
	w.token(jsontext.String(name))
	if w.err == nil {
		w.err = w.enc.WriteValue(value)
	}
}

func (w *objectWriter) addValue(name string, value any) {
	w.token(jsontext.String(name))
	if w.err == nil {
		w.err = jsonv2.MarshalEncode(w.enc, value)
	}
}

// cited holds the citations of a text.
type cited struct {
	Citations []json.RawMessage `json:"citations"`
}

// citationsOf returns those of a text, which the server wants back with it.
func citationsOf(p *llm.Part) []json.RawMessage {
	if p.Origin != Origin || p.Opaque == nil {
		return nil
	}
	var kept cited
	json.Unmarshal(p.Opaque, &kept) // what is not ours has none
	return kept.Citations
}
