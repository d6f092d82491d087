package foreign

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	v2 "github.com/go-json-experiment/json"

	"ramet/internal/core/history"
	"ramet/internal/model/catalog"
)

// claude is Claude Code: a tree by uuid and parentUuid; each block of an answer is a line
// of its own, and results are messages of the user.
type claude struct{ *claudeSeen }

// claudeSeen is what reads them.
type claudeSeen struct{ reader int }

type claudeLine struct {
	Type     string  `json:"type"`
	Subtype  string  `json:"subtype"`
	UUID     string  `json:"uuid"`
	Parent   *string `json:"parentUuid"`
	Logical  string  `json:"logicalParentUuid"`
	Side     bool    `json:"isSidechain"`
	Agent    string  `json:"agentId"`
	Session  string  `json:"sessionId"`
	Version  string  `json:"version"`
	Cwd      string  `json:"cwd"`
	Time     string  `json:"timestamp"`
	Summary  string  `json:"summary"`
	Title    string  `json:"customTitle"`
	Compact  bool    `json:"isCompactSummary"`
	Meta     bool    `json:"isMeta"`
	APIError bool    `json:"isApiErrorMessage"`
	Message  struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// claudeSilent are the lines that tell of the program, not of the conversation.
var claudeSilent = map[string]bool{"summary": true, "system": true, "file-history-snapshot": true, "queue-operation": true, "progress": true,
	"attachment": true, "custom-title": true, "ai-title": true, "last-prompt": true, "permission-mode": true, "pr-link": true, "mode": true,
	"worktree-state": true, "agent-name": true, "agent-setting": true, "tag": true, "bridge-session": true, "content-replacement": true}

// claudeCounts are more of them, which readers before the fourth kept.
var claudeCounts = map[string]bool{"api-request": true, "api-request-shape": true, "api-request-blob": true, "atis-latch": true, "tools-used": true, "cost-state": true}

func (c claude) index(line []byte, s *Session) (record, names) {
	var l claudeLine
	if decode(line, &l) != nil || l.Type == "" {
		return record{role: broken}, names{}
	}
	n := names{id: l.UUID, group: l.Message.ID}
	r := record{role: raw, side: l.Side, named: l.UUID != ""}
	if l.Parent != nil {
		n.up = *l.Parent
	} else if n.up = l.Logical; n.up == "" {
		r.top = l.UUID != ""
	}
	switch {
	case l.Type == "assistant" && !l.APIError:
		r.role = answer
		if l.Message.Model != "" && !strings.HasPrefix(l.Message.Model, "<") {
			s.Model = string(catalog.Anthropic) + "/" + l.Message.Model
		}
	case l.Type == "user" && l.Compact:
		r.role = shape
	case l.Type == "user" && strings.Contains(string(l.Message.Content), `"tool_result"`):
		r.role = result
	case l.Type == "user":
		r.role = user
	case claudeSilent[l.Type], c.reader >= 4 && claudeCounts[l.Type]:
		r.role = silent
	case l.Type != "assistant": // in which the program told of an error
		n.kind = l.Type
	}
	s.tell(l.Session, l.Version, l.Cwd, l.Time)
	switch {
	case l.Title != "":
		s.Title = l.Title
	case l.Summary != "" && s.Title == "":
		s.Title = l.Summary
	}
	if r.role == user && s.begins == "" && !l.Meta {
		if said, err := c.read(line); err == nil {
			s.begins = history.Plain(said.Parts)
		}
	}
	if l.Side && l.Agent != "" && strings.Contains(s.Path, "agent-") { // a file of its own
		s.Of, s.ID = l.Session, "agent-"+l.Agent
	}
	if r.side && s.Of != "" {
		r.side = false // all of it is
	}
	return r, n
}

// tell takes what lines say of their session; the first word on each counts, of the
// version the last.
func (s *Session) tell(id, version, cwd, at string) {
	if s.ID == "" {
		s.ID = id
	}
	if version != "" {
		s.Version = version
	}
	if s.Cwd == "" {
		s.Cwd = cwd
	}
	if t, err := time.Parse(time.RFC3339, at); err == nil && s.Started.IsZero() {
		s.Started = t
	}
}

// claudeBlock is a part of a message, with the bytes of the line that it stands in.
type claudeBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Of        string          `json:"tool_use_id"`
	Error     bool            `json:"is_error"`
	Content   claudeContent   `json:"content"`
	Source    struct {
		Media string `json:"media_type"`
		Data  string `json:"data"`
	} `json:"source"`

	from, to int64
	raw      []byte // of a block that was read by itself
}

// in is the block as it came.
func (b claudeBlock) in(line []byte) []byte {
	if b.raw != nil {
		return b.raw
	}
	return bytes.TrimLeft(line[b.from:b.to], ", \t\r\n")
}

// claudeContent is a text, or blocks. They are read where they stand, in one go with the line: most of
// what a session holds is in them.
type claudeContent struct {
	text   string
	blocks []claudeBlock
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *claudeContent) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '"':
		return v2.UnmarshalDecode(dec, &c.text)
	case '[':
	default:
		return dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		b := claudeBlock{from: dec.InputOffset()}
		if err := v2.UnmarshalDecode(dec, &b); err != nil {
			return err
		}
		b.to = dec.InputOffset()
		c.blocks = append(c.blocks, b)
	}
	_, err := dec.ReadToken()
	return err
}

// eachAlone reads blocks one by one: what is none of those that are known here keeps no other back.
func eachAlone(content json.RawMessage) (claudeContent, error) {
	var raw []json.RawMessage
	if err := decode(content, &raw); err != nil {
		return claudeContent{}, err
	}
	var out claudeContent
	for _, one := range raw {
		b := claudeBlock{}
		if decode(one, &b) != nil {
			b = claudeBlock{}
		}
		b.raw = one
		out.blocks = append(out.blocks, b)
	}
	return out, nil
}

// claudeSaid is a line with its content.
type claudeSaid struct {
	Type     string `json:"type"`
	Time     string `json:"timestamp"`
	Compact  bool   `json:"isCompactSummary"`
	APIError bool   `json:"isApiErrorMessage"`
	Message  struct {
		Model   string        `json:"model"`
		Content claudeContent `json:"content"`
		Usage   *struct {
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
			Read   int64 `json:"cache_read_input_tokens"`
			Write  int64 `json:"cache_creation_input_tokens"`
		} `json:"usage"`
	} `json:"message"`
}

func readClaude(line []byte) (claudeSaid, error) {
	var l claudeSaid
	if decode(line, &l) == nil {
		return l, nil
	}
	var slow claudeLine
	if err := decode(line, &slow); err != nil {
		return l, err
	}
	l = claudeSaid{Type: slow.Type, Time: slow.Time, Compact: slow.Compact, APIError: slow.APIError}
	var err error
	if l.Message.Content.text = decodeText(slow.Message.Content); l.Message.Content.text == "" {
		l.Message.Content, err = eachAlone(slow.Message.Content)
	}
	return l, err
}

func (claude) read(line []byte) (Said, error) {
	l, err := readClaude(line)
	if err != nil {
		return Said{}, err
	}
	out := Said{Kind: history.Note, Time: l.Time}
	switch {
	case l.Type == "assistant" && !l.APIError:
		out.Kind = history.Assistant
		if u := l.Message.Usage; u != nil {
			out.Used = used(string(catalog.Anthropic)+"/"+l.Message.Model, u.Input, u.Output, u.Read, u.Write, 0)
		}
	case l.Type == "user" && l.Compact:
		out.Kind = history.Compact
	case l.Type == "user":
		out.Kind = history.User
	default:
		out.Parts = words(string(line))
		return out, nil
	}
	if s := l.Message.Content.text; s != "" {
		out.Parts = words(s)
		return out, nil
	}
	for _, b := range l.Message.Content.blocks {
		parts, answers := claudeParts(b, line)
		if answers {
			out.Kind = history.ToolResult
		}
		out.Parts = append(out.Parts, parts...)
	}
	return out, nil
}

func claudeParts(b claudeBlock, line []byte) (parts []history.Part, answers bool) {
	kept := func(t history.PartType, s string) []history.Part {
		return []history.Part{{Type: t, Text: s, Signature: b.Signature, Opaque: append(json.RawMessage{}, b.in(line)...), Origin: string(catalog.Anthropic)}}
	}
	switch b.Type {
	case "text":
		return words(b.Text), false
	case "thinking":
		p := kept(history.Thinking, b.Thinking)
		p[0].Opaque = nil
		return p, false
	case "redacted_thinking":
		return kept(history.Thinking, ""), false
	case "server_tool_use", "web_search_tool_result":
		return kept(history.Search, ""), false
	case "tool_use":
		p := call(b.ID, b.Name, b.Input)
		p.Origin = string(catalog.Anthropic)
		return []history.Part{p}, false
	case "image", "document":
		return []history.Part{picture(b.Type, b.Source.Media, b.Source.Data)}, false
	case "tool_result":
		return claudeResult(b, line), true
	}
	return words(string(b.in(line))), false
}

// claudeResult is a result, and the images that came with it.
func claudeResult(b claudeBlock, line []byte) []history.Part {
	out := []history.Part{{Type: history.Result, CallID: b.Of, Text: b.Content.text, IsError: b.Error}}
	if b.Content.text != "" {
		return out
	}
	if b.raw != nil { // places are those of the block
		line = b.raw
	}
	var said []string
	for _, one := range b.Content.blocks {
		parts, _ := claudeParts(one, line)
		for _, p := range parts {
			if p.Type == history.Text {
				said = append(said, p.Text)
			} else if p.Type.IsData() {
				out = append(out, p)
			}
		}
	}
	out[0].Text = strings.Join(said, "\n")
	return out
}

// claudeBeside is what lies beside the file of a sub-agent.
type claudeBeside struct {
	Call  string `json:"toolUseId"`  // that it worked for
	Depth int    `json:"spawnDepth"` // 1: of the session itself
}

func besideClaude(path string) claudeBeside {
	var out claudeBeside
	data, err := first(strings.TrimSuffix(path, ".jsonl")+".meta.json", 64<<10)
	if err == nil && decode(data, &out) != nil {
		return claudeBeside{}
	}
	return out
}
