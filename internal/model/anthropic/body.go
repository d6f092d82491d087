package anthropic

import (
	"encoding/base64"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/model/llm"
)

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

// content is a block as the protocol has it.
type content struct {
	Type      string            `json:"type"`
	Text      string            `json:"text,omitempty"`
	Citations []json.RawMessage `json:"citations,omitempty"`
	Thinking  *string           `json:"thinking,omitempty"`
	Signature string            `json:"signature,omitempty"`
	ID        string            `json:"id,omitempty"`
	Name      string            `json:"name,omitempty"`
	Input     json.RawMessage   `json:"input,omitempty"`
	ToolUseID string            `json:"tool_use_id,omitempty"`
	Content   string            `json:"content,omitempty"`
	IsError   bool              `json:"is_error,omitempty"`
	Source    *source           `json:"source,omitempty"`
	Title     string            `json:"title,omitempty"`
	Cache     *cacheControl     `json:"cache_control,omitempty"`
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

// MarshalJSONTo implements jsonv2.MarshalerTo. What the server gave us to keep is sent as it came.
func (b block) MarshalJSONTo(enc *jsontext.Encoder) error {
	if t := b.part.Type; b.part.Opaque != nil && (t == llm.Thinking || t == llm.Search) {
		return enc.WriteValue(jsontext.Value(b.part.Opaque))
	}
	return jsonv2.MarshalEncode(enc, b.content())
}

func (b block) content() content {
	p := b.part
	out := content{Type: string(p.Type)}
	switch p.Type {
	case llm.Text:
		out.Text, out.Citations = p.Text, citationsOf(p)
		if b.aside {
			out.Text = "<system>\n" + p.Text + "\n</system>"
		}
	case llm.Thinking:
		out.Thinking, out.Signature = &p.Text, p.Signature
	case llm.ToolCall:
		out.Type, out.ID, out.Name, out.Input = "tool_use", b.id, p.Name, p.Args
	case llm.ToolResult:
		out.ToolUseID, out.Content, out.IsError = b.id, p.Text, p.IsError
	case llm.Image, llm.Document:
		out.Source = &source{"base64", p.MediaType, base64.StdEncoding.EncodeToString(p.Data)}
		if p.Type == llm.Document {
			out.Title = p.Name
		}
	}
	switch b.cache {
	case "5m": // the default
		out.Cache = &cacheControl{Type: "ephemeral"}
	case "1h":
		out.Cache = &cacheControl{Type: "ephemeral", TTL: "1h"}
	}
	return out
}

// cited holds the citations of a text.
type cited struct {
	Citations []json.RawMessage `json:"citations"`
}

// citationsOf returns those of a text, which the server wants back with it.
func citationsOf(p *llm.Part) []json.RawMessage {
	var kept cited
	if p.Origin == Origin && p.Opaque != nil {
		json.Unmarshal(p.Opaque, &kept) // what is not ours has none
	}
	return kept.Citations
}
