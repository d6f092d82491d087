package foreign

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"ramet/internal/core/history"
	"ramet/internal/model/catalog"
)

// pi is pi: a tree by id and parentId. A fork is a copy, whose head names the original. It remembers what the lines
// before one told.
type pi struct {
	reader int
	copied time.Time // what is older was said in the original; zero: it is no copy
}

// piVersion is the newest version of the format that is known here.
const piVersion = 3

type piLine struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Parent  *string         `json:"parentId"`
	Time    string          `json:"timestamp"`
	Version int             `json:"version"`
	Cwd     string          `json:"cwd"`
	Forked  string          `json:"parentSession"` // the file
	Name    string          `json:"name"`
	Summary string          `json:"summary"`
	Keep    string          `json:"firstKeptEntryId"`
	Content json.RawMessage `json:"content"`
	Message piMessage       `json:"message"`
}

type piMessage struct {
	Role     string          `json:"role"`
	Content  json.RawMessage `json:"content"`
	API      string          `json:"api"`
	Provider string          `json:"provider"`
	Model    string          `json:"model"`
	CallID   string          `json:"toolCallId"`
	Tool     string          `json:"toolName"`
	Error    bool            `json:"isError"`
	Command  string          `json:"command"`
	Output   string          `json:"output"`
	Summary  string          `json:"summary"`
	Usage    *struct {
		Input  int64 `json:"input"`
		Output int64 `json:"output"`
		Read   int64 `json:"cacheRead"`
		Write  int64 `json:"cacheWrite"`
		Cost   struct {
			Total float64 `json:"total"`
		} `json:"cost"`
	} `json:"usage"`
}

var piSilent = map[string]bool{"session": true, "model_change": true, "thinking_level_change": true, "label": true, "session_info": true, "custom": true, "usage": true}

func (p *pi) index(line []byte, s *Session) (record, names) {
	var l piLine
	if decode(line, &l) != nil || l.Type == "" {
		return record{role: broken}, names{}
	}
	n := names{id: l.ID}
	r := record{role: raw}
	switch {
	case l.Type == "session":
		r.role = silent
		n.id = "" // of the session
		s.tell(l.ID, fmt.Sprint(l.Version), l.Cwd, l.Time)
		if l.Version > piVersion {
			s.Newer = fmt.Sprintf("version %d of pi's format is newer than %d, the newest that", l.Version, piVersion)
		}
		if _, id, ok := strings.Cut(strings.TrimSuffix(filepath.Base(l.Forked), ".jsonl"), "_"); ok {
			s.Forked, p.copied = id, s.Started
		}
		return r, n
	case piSilent[l.Type]:
		r.role = silent
	case l.Type == "compaction":
		r.role = shape
	case l.Type == "message":
		r.role = piRole(l.Message.Role)
	case l.Type == "custom_message", l.Type == "branch_summary":
		r.role = user
	}
	if n.kind = l.Type; n.kind == "message" {
		n.kind += " of " + l.Message.Role
	}
	if l.Parent != nil {
		n.up, r.named = *l.Parent, true
	} else if l.ID != "" {
		r.named = true
		r.top = true
	}
	if m := l.Message; m.Model != "" {
		s.Model = m.Provider + "/" + m.Model
	}
	if l.Type == "session_info" && l.Name != "" {
		s.Title = l.Name
	}
	if r.role == user && s.begins == "" {
		if said, err := p.read(line); err == nil {
			s.begins = history.Plain(said.Parts)
		}
	}
	return r, n
}

func piRole(name string) role {
	switch name {
	case "user", "bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary":
		return user
	case "assistant":
		return answer
	case "toolResult":
		return result
	}
	return raw
}

func (p *pi) read(line []byte) (Said, error) {
	var l piLine
	if err := decode(line, &l); err != nil {
		return Said{}, err
	}
	out := Said{Kind: history.User, Time: l.Time}
	m := l.Message
	switch {
	case l.Type == "compaction":
		out.Kind, out.Parts, out.Keep = history.Compact, words(l.Summary), l.Keep
	case l.Type == "branch_summary":
		out.Parts = words(l.Summary)
	case l.Type == "custom_message":
		out.Parts = p.content(l.Content, m)
	case l.Type != "message" || piRole(m.Role) == raw:
		out.Kind, out.Parts = history.Note, words(string(line))
	case m.Role == "assistant":
		out.Kind, out.Parts = history.Assistant, p.content(m.Content, m)
		if u := m.Usage; u != nil && !p.repeats(l.Time) {
			if out.Used = used(m.Provider+"/"+m.Model, u.Input, u.Output, u.Read, u.Write, 0); out.Used != nil {
				out.Used.Cost = dollars(u.Cost.Total)
			}
		}
	case m.Role == "toolResult":
		out.Kind, out.Parts = history.ToolResult, p.result(m)
	case m.Role == "bashExecution":
		out.Parts = words("$ " + m.Command + "\n" + m.Output)
	case m.Summary != "":
		out.Parts = words(m.Summary)
	default:
		out.Parts = p.content(m.Content, m)
	}
	return out, nil
}

// repeats says that a line of a copy was written by the original: that tells what it used.
func (p *pi) repeats(at string) bool {
	t, err := time.Parse(time.RFC3339, at)
	return err == nil && p.reader >= 4 && t.Before(p.copied)
}

// origins are the protocols in which pi names them.
var origins = map[string]catalog.Protocol{"anthropic-messages": catalog.Anthropic, "openai-responses": catalog.Responses, "google-generative-ai": catalog.Gemini}

// piBlock is a part of a message.
type piBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"thinkingSignature"`
	Redacted  bool            `json:"redacted"`
	Data      string          `json:"data"`
	Media     string          `json:"mimeType"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"arguments"`
	Thought   string          `json:"thoughtSignature"`
}

func (p *pi) content(content json.RawMessage, m piMessage) []history.Part {
	var list []json.RawMessage
	if decode(content, &list) != nil {
		return words(decodeText(content))
	}
	origin := string(origins[m.API])
	var out []history.Part
	for _, one := range list {
		var b piBlock
		err := decode(one, &b)
		part, ok := b.part(origin)
		if ok && err == nil {
			out = append(out, part)
		} else if p.reader >= 4 {
			out = append(out, words(string(one))...)
		}
	}
	return out
}

// part is a block as ours; false: nobody knows it.
func (b piBlock) part(origin string) (history.Part, bool) {
	switch b.Type {
	case "text":
		return history.Part{Type: history.Text, Text: b.Text}, true
	case "image":
		return picture("image", b.Media, b.Data), true
	case "thinking":
		p := history.Part{Type: history.Thinking, Text: b.Thinking, Origin: origin}
		switch {
		case origin == "" || b.Redacted: // to nobody we know
		case strings.HasPrefix(b.Signature, "{"):
			p.Opaque = json.RawMessage(b.Signature)
		default:
			p.Signature = b.Signature
		}
		return p, true
	case "toolCall":
		id, _, _ := strings.Cut(b.ID, "|") // behind it stands the item's own
		p := call(id, b.Name, b.Args)
		p.Origin, p.Signature = origin, b.Thought
		return p, true
	}
	return history.Part{}, false
}

func (p *pi) result(m piMessage) []history.Part {
	id, _, _ := strings.Cut(m.CallID, "|")
	out := history.Part{Type: history.Result, CallID: id, Name: m.Tool, IsError: m.Error}
	var rest []history.Part
	for _, part := range p.content(m.Content, m) {
		if part.Type == history.Text {
			out.Text += part.Text
		} else {
			rest = append(rest, part)
		}
	}
	return append([]history.Part{out}, rest...)
}

type piWriting struct{}

func (piWriting) head(w *Writer) []any {
	return []any{map[string]any{"type": "session", "version": piVersion, "id": w.ID, "timestamp": w.stamp(), "cwd": w.Cwd}}
}

func (piWriting) lines(w *Writer, k history.Kind, parts []history.Part) []any {
	var out []any
	line := func(message map[string]any) {
		w.drawn++
		id := fmt.Sprintf("%08x", w.drawn)
		l := map[string]any{"type": "message", "id": id, "parentId": nil, "timestamp": w.stamp(), "message": message}
		message["timestamp"] = w.now.UnixMilli()
		if w.up != "" {
			l["parentId"] = w.up
		}
		w.up = id
		out = append(out, l)
	}
	switch k {
	case history.ToolResult:
		for _, one := range results(parts) {
			r := one[0]
			line(map[string]any{"role": "toolResult", "toolCallId": r.CallID, "toolName": w.name[r.CallID], "isError": r.IsError,
				"content": piBlocks(append([]history.Part{{Type: history.Text, Text: r.Text}}, one[1:]...))})
		}
	case history.Assistant:
		api, vendor := piAPI(parts)
		reason := "stop"
		if hasCall(parts) {
			reason = "toolUse"
		}
		model := w.modelOf(vendor)
		none := map[string]any{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
			"cost": map[string]int{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}
		line(map[string]any{"role": "assistant", "api": api, "provider": vendor, "model": model, "stopReason": reason, "usage": none, "content": piBlocks(parts)})
	default:
		line(map[string]any{"role": "user", "content": piBlocks(parts)})
	}
	return out
}

// piAPI returns the protocol of what a vendor keeps in the parts of an answer.
func piAPI(parts []history.Part) (api, vendor string) {
	for _, p := range parts {
		for name, protocol := range origins {
			if p.Origin == string(protocol) {
				return name, map[catalog.Protocol]string{catalog.Anthropic: "anthropic", catalog.Responses: "openai", catalog.Gemini: "google"}[protocol]
			}
		}
	}
	return "openai-completions", "openai" // what signs nothing
}

func piBlocks(parts []history.Part) []any {
	out := []any{}
	for _, p := range parts {
		switch {
		case p.Type == history.Text:
			out = append(out, map[string]any{"type": "text", "text": p.Text})
		case p.Type == history.Thinking && p.Origin != "" && (p.Signature != "" || strings.HasPrefix(string(p.Opaque), "{")):
			sign := cmp.Or(p.Signature, string(p.Opaque))
			out = append(out, map[string]any{"type": "thinking", "thinking": p.Text, "thinkingSignature": sign})
		case p.Type == history.ToolCall:
			b := map[string]any{"type": "toolCall", "id": p.CallID, "name": p.Name, "arguments": json.RawMessage(object(p))}
			if p.Signature != "" {
				b["thoughtSignature"] = p.Signature
			}
			out = append(out, b)
		case p.Type == history.Image:
			out = append(out, map[string]any{"type": "image", "mimeType": p.MediaType, "data": p.Data})
		case p.Type.IsData():
			out = append(out, map[string]any{"type": "text", "text": p.About()})
		}
	}
	return out
}
