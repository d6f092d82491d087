package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// block is any piece of content: a part of a message as this protocol has it.
type block struct {
	part  *llm.Part
	aside bool   // a word of the system among those of the user
	id    string // of a call or result, as it goes there
	cache string // up to here it will be sent again: for how long it is kept, "" for not
}

// rank puts results before everything else.
func (b block) rank() int {
	if b.part.Type == llm.ToolResult {
		return 0
	}
	return 1
}

// AppendJSON implements wire.Appender.
func (r request) AppendJSON(b []byte) (_ []byte, err error) {
	b = append(b, '{')
	if r.Version == "" {
		b = append(wire.AppendText(append(b, `"model":`...), r.Model), ',')
	}
	b = strconv.AppendInt(append(b, `"max_tokens":`...), r.MaxTokens, 10)
	if len(r.System) > 0 {
		if b, err = appendBlocks(append(b, `,"system":`...), r.System); err != nil {
			return nil, err
		}
	}
	b = append(b, `,"messages":[`...)
	for i, m := range r.Messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"role":"`...), m.Role...), `","content":`...)
		if b, err = appendBlocks(b, m.Content); err != nil {
			return nil, err
		}
		b = append(b, '}')
	}
	return r.appendRest(append(b, ']'))
}

// appendRest appends what follows the messages, and the end. What is short and seldom is left to the library, which
// looks through all that a type could have before it writes the first of it.
func (r request) appendRest(b []byte) (_ []byte, err error) {
	if len(r.Tools) > 0 {
		if b, err = appendTools(append(b, `,"tools":[`...), r.Tools); err != nil {
			return nil, err
		}
	}
	short := func(name string, v any) {
		var text []byte
		if err == nil {
			text, err = wire.Marshal(v)
		}
		b = append(append(append(append(b, `,"`...), name...), `":`...), text...)
	}
	if r.ToolChoice != nil {
		short("tool_choice", r.ToolChoice)
	}
	if r.Temperature != nil {
		short("temperature", r.Temperature)
	}
	if r.Thinking != nil {
		short("thinking", r.Thinking)
	}
	if r.OutputConfig != nil {
		short("output_config", r.OutputConfig)
	}
	if r.Stream {
		b = append(b, `,"stream":true`...)
	}
	if r.Version != "" {
		b = wire.AppendMember(b, "anthropic_version", r.Version)
	}
	return append(b, '}'), err
}

func appendTools(b []byte, tools []tool) (_ []byte, err error) {
	for i, t := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = t.append(b); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func (t tool) append(b []byte) ([]byte, error) {
	b = append(b, '{')
	if t.Type != "" {
		b = append(wire.AppendText(append(b, `"type":`...), t.Type), ',')
	}
	b = wire.AppendText(append(b, `"name":`...), t.Name)
	if t.Description != "" {
		b = wire.AppendMember(b, "description", t.Description)
	}
	if len(t.InputSchema) > 0 {
		schema := bytes.NewBuffer(append(b, `,"input_schema":`...))
		if err := json.Compact(schema, t.InputSchema); err != nil { // that of a server may have spaces
			return nil, fmt.Errorf("the schema of tool %s: %w", t.Name, err)
		}
		b = schema.Bytes()
	}
	if t.MaxUses != 0 {
		b = strconv.AppendInt(append(b, `,"max_uses":`...), int64(t.MaxUses), 10)
	}
	return append(b, '}'), nil
}

func appendBlocks(b []byte, blocks []block) (_ []byte, err error) {
	b = append(b, '[')
	for i, one := range blocks {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = one.append(b); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func (k block) append(b []byte) ([]byte, error) {
	p := k.part
	switch p.Type {
	case llm.Text:
		text := p.Text
		if k.aside {
			text = "<system>\n" + text + "\n</system>"
		}
		b = wire.AppendMember(append(b, `{"type":"text"`...), "text", text)
		if cited := citations(p); cited != nil {
			b = append(append(b, `,"citations":`...), cited...)
		}
	case llm.Thinking:
		if p.Opaque != nil {
			return appendRaw(b, p.Opaque)
		}
		b = wire.AppendText(append(b, `{"type":"thinking","thinking":`...), p.Text)
		b = wire.AppendMember(b, "signature", p.Signature)
	case llm.Search:
		return appendRaw(b, p.Opaque)
	case llm.ToolCall:
		b = wire.AppendMember(append(b, `{"type":"tool_use"`...), "id", k.id)
		b = wire.AppendMember(b, "name", p.Name)
		b = append(append(b, `,"input":`...), p.Args...) // Ask has checked it
	case llm.ToolResult:
		b = wire.AppendMember(append(b, `{"type":"tool_result"`...), "tool_use_id", k.id)
		b = wire.AppendMember(b, "content", p.Text)
		if p.IsError {
			b = append(b, `,"is_error":true`...)
		}
	case llm.Image, llm.Document:
		b = append(append(append(b, `{"type":"`...), p.Type...), `","source":{"type":"base64","media_type":`...)
		b = wire.AppendText(b, p.MediaType)
		b = base64.StdEncoding.AppendEncode(append(b, `,"data":"`...), p.Data)
		b = append(b, `"}`...)
		if p.Type == llm.Document && p.Name != "" {
			b = wire.AppendMember(b, "title", p.Name)
		}
	}
	switch k.cache {
	case "5m": // the usual
		b = append(b, `,"cache_control":{"type":"ephemeral"}`...)
	case "1h":
		b = append(b, `,"cache_control":{"type":"ephemeral","ttl":"1h"}`...)
	}
	return append(b, '}'), nil
}

// appendRaw appends what came from the server, which nobody has read since.
func appendRaw(b []byte, raw json.RawMessage) ([]byte, error) {
	if !json.Valid(raw) {
		return nil, fmt.Errorf("what the server gave us to keep is no JSON: %.80q", raw)
	}
	return append(b, raw...), nil
}

// cited is what is kept of a text that rests on pages.
type cited struct {
	Citations []json.RawMessage `json:"citations"`
}

// citations are those of a text, which the server wants back with it.
func citations(p *llm.Part) []byte {
	if p.Origin != Origin || p.Opaque == nil {
		return nil
	}
	var kept cited
	if json.Unmarshal(p.Opaque, &kept) != nil || len(kept.Citations) == 0 {
		return nil
	}
	out, err := wire.Marshal(kept.Citations)
	if err != nil {
		return nil
	}
	return out
}
