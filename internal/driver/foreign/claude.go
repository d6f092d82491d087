package foreign

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"ramet/internal/core/history"
	"ramet/internal/model/catalog"
)

// claude is Claude Code: a tree by uuid and parentUuid; each block of an answer is a line
// of its own, and results are messages of the user.
type claude struct{ reader int }

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
		Usage   json.RawMessage `json:"usage"`
	} `json:"message"`
}

// claudeUsage holds the tokens of an answer.
type claudeUsage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Read   int64 `json:"cache_read_input_tokens"`
	Write  int64 `json:"cache_creation_input_tokens"`
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
	s.ID = cmp.Or(s.ID, id)
	if version != "" {
		s.Version = version
	}
	s.Cwd = cmp.Or(s.Cwd, cwd)
	if t, err := time.Parse(time.RFC3339, at); err == nil && s.Started.IsZero() {
		s.Started = t
	}
}

// claudeBlock is a part of a message.
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

	raw []byte // as it came
}

// claudeContent is a text, or blocks.
type claudeContent struct {
	text   string
	blocks []claudeBlock
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *claudeContent) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return decode(data, &c.text)
	}
	var list []json.RawMessage
	if data[0] == '[' {
		if err := decode(data, &list); err != nil {
			return err
		}
	}
	for _, one := range list {
		b := claudeBlock{}
		if err := decode(one, &b); err != nil {
			return err
		}
		b.raw = one
		c.blocks = append(c.blocks, b)
	}
	return nil
}

// readClaudeContent reads the content of a message. What is no block that is known here keeps no other back.
func readClaudeContent(data json.RawMessage) (out claudeContent) {
	var list []json.RawMessage
	if decode(data, &list) != nil {
		out.text = decodeText(data)
	}
	for _, one := range list {
		b := claudeBlock{}
		if decode(one, &b) != nil {
			b = claudeBlock{}
		}
		b.raw = one
		out.blocks = append(out.blocks, b)
	}
	return out
}

func (claude) read(line []byte) (Said, error) {
	var l claudeLine
	if err := decode(line, &l); err != nil {
		return Said{}, err
	}
	out := Said{Kind: history.Note, Time: l.Time}
	switch {
	case l.Type == "assistant" && !l.APIError:
		out.Kind = history.Assistant
		var u claudeUsage
		if len(l.Message.Usage) > 0 && decode(l.Message.Usage, &u) == nil {
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
	content := readClaudeContent(l.Message.Content)
	if content.text != "" {
		out.Parts = words(content.text)
		return out, nil
	}
	for _, b := range content.blocks {
		parts, answers := claudeParts(b)
		if answers {
			out.Kind = history.ToolResult
		}
		out.Parts = append(out.Parts, parts...)
	}
	return out, nil
}

func claudeParts(b claudeBlock) (parts []history.Part, answers bool) {
	kept := func(t history.PartType, s string) []history.Part {
		return []history.Part{{Type: t, Text: s, Signature: b.Signature, Opaque: append(json.RawMessage{}, b.raw...), Origin: string(catalog.Anthropic)}}
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
		return claudeResult(b), true
	}
	return words(string(b.raw)), false
}

// claudeResult is a result, and the images that came with it.
func claudeResult(b claudeBlock) []history.Part {
	out := []history.Part{{Type: history.Result, CallID: b.Of, Text: b.Content.text, IsError: b.Error}}
	if b.Content.text != "" {
		return out
	}
	var said []string
	for _, one := range b.Content.blocks {
		parts, _ := claudeParts(one)
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

type claudeWriting struct{}

// claudeWritten is the version of Claude Code whose lines these are.
const claudeWritten = "2.1.197"

func (claudeWriting) head(*Writer) []any { return nil }

func (claudeWriting) lines(w *Writer, k history.Kind, parts []history.Part) []any {
	var out []any
	line := func(kind string, message, more map[string]any) {
		id := uuid.NewString()
		l := map[string]any{"parentUuid": nil, "isSidechain": false, "userType": "external", "cwd": w.Cwd, "sessionId": w.ID, "version": claudeWritten, "gitBranch": "",
			"type": kind, "message": message, "uuid": id, "timestamp": w.stamp()}
		if w.up != "" {
			l["parentUuid"] = w.up
		}
		for name, v := range more {
			l[name] = v
		}
		w.up = id
		out = append(out, l)
	}
	switch k {
	case history.Assistant:
		id := "msg_" + strings.ReplaceAll(uuid.NewString(), "-", "")
		blocks := claudeBlocks(parts)
		for i, b := range blocks {
			reason := any(nil)
			if i == len(blocks)-1 {
				if reason = "end_turn"; hasCall(parts) {
					reason = "tool_use"
				}
			}
			line("assistant", map[string]any{"id": id, "type": "message", "role": "assistant", "model": w.modelOf(string(catalog.Anthropic)), "content": []any{b},
				"stop_reason": reason, "stop_sequence": nil, "usage": map[string]int{"input_tokens": 0, "output_tokens": 0}}, nil)
		}
	case history.ToolResult:
		for _, one := range results(parts) {
			line("user", map[string]any{"role": "user", "content": []any{claudeAnswer(one)}}, nil)
		}
	case history.Compact:
		line("user", map[string]any{"role": "user", "content": history.Plain(parts)}, map[string]any{"isCompactSummary": true, "isVisibleInTranscriptOnly": true})
	default:
		content := any(claudeBlocks(parts))
		if len(parts) == 1 && parts[0].Type == history.Text {
			content = parts[0].Text
		}
		line("user", map[string]any{"role": "user", "content": content}, nil)
	}
	return out
}

func hasCall(parts []history.Part) bool {
	return slices.ContainsFunc(parts, func(p history.Part) bool { return p.Type == history.ToolCall })
}

// modelOf returns the name of the session's model where it is of this vendor.
func (w *Writer) modelOf(vendor string) string {
	if name, ok := strings.CutPrefix(w.Model, vendor+"/"); ok {
		return name
	}
	return "<synthetic>"
}

// results puts what came with each result behind it.
func results(parts []history.Part) [][]history.Part {
	var out [][]history.Part
	for _, p := range parts {
		if p.Type == history.Result || len(out) == 0 {
			out = append(out, []history.Part{p})
			continue
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

func claudeAnswer(one []history.Part) map[string]any {
	r := one[0]
	out := map[string]any{"type": "tool_result", "tool_use_id": r.CallID, "content": r.Text}
	if r.IsError {
		out["is_error"] = true
	}
	if len(one) > 1 {
		out["content"] = claudeBlocks(append([]history.Part{{Type: history.Text, Text: r.Text}}, one[1:]...))
	}
	return out
}

func claudeBlocks(parts []history.Part) []any {
	out := []any{}
	for _, p := range parts {
		own := p.Origin == string(catalog.Anthropic)
		switch {
		case p.Type == history.Text || p.Type == history.Result:
			if p.Text != "" {
				out = append(out, map[string]any{"type": "text", "text": p.Text})
			}
		case p.Type == history.Thinking && own && p.Signature != "":
			out = append(out, map[string]any{"type": "thinking", "thinking": p.Text, "signature": p.Signature})
		case (p.Type == history.Thinking || p.Type == history.Search) && own && len(p.Opaque) > 0:
			out = append(out, json.RawMessage(p.Opaque))
		case p.Type == history.ToolCall:
			out = append(out, map[string]any{"type": "tool_use", "id": p.CallID, "name": p.Name, "input": object(p)})
		case p.Type.IsData():
			out = append(out, map[string]any{"type": string(p.Type), "source": map[string]any{"type": "base64", "media_type": p.MediaType, "data": p.Data}})
		}
	}
	return out
}
