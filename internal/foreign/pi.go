package foreign

import (
	"encoding/json"
	"fmt"
	"strings"

	"ramet/internal/history"
	"ramet/internal/llm/catalog"
)

// pi is pi: a tree by id and parentId.
type pi struct{}

// piVersion is the newest version of the format that is known here.
const piVersion = 3

type piLine struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Parent  *string         `json:"parentId"`
	Time    string          `json:"timestamp"`
	Version int             `json:"version"`
	Cwd     string          `json:"cwd"`
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

func (pi) index(line []byte, s *Session) (record, names) {
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
			s.Newer = fmt.Sprintf("version %d of pi's format", l.Version)
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
		if said, err := (pi{}).read(line); err == nil {
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

func (pi) read(line []byte) (Said, error) {
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
		out.Parts = piContent(l.Content, m)
	case l.Type != "message" || piRole(m.Role) == raw:
		out.Kind, out.Parts = history.Note, words(string(line))
	case m.Role == "assistant":
		out.Kind, out.Parts = history.Assistant, piContent(m.Content, m)
		if u := m.Usage; u != nil {
			if out.Used = used(m.Provider+"/"+m.Model, u.Input, u.Output, u.Read, u.Write, 0); out.Used != nil {
				out.Used.Cost = dollars(u.Cost.Total)
			}
		}
	case m.Role == "toolResult":
		out.Kind, out.Parts = history.ToolResult, piResult(m)
	case m.Role == "bashExecution":
		out.Parts = words("$ " + m.Command + "\n" + m.Output)
	case m.Summary != "":
		out.Parts = words(m.Summary)
	default:
		out.Parts = piContent(m.Content, m)
	}
	return out, nil
}

// origins are the protocols in which pi names them.
var origins = map[string]catalog.Protocol{"anthropic-messages": catalog.Anthropic, "openai-responses": catalog.Responses, "google-generative-ai": catalog.Gemini}

func piContent(content json.RawMessage, m piMessage) []history.Part {
	var list []struct {
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
	if decode(content, &list) != nil {
		return words(text(content))
	}
	origin := string(origins[m.API])
	var out []history.Part
	for _, one := range list {
		switch one.Type {
		case "text":
			out = append(out, words(one.Text)...)
		case "image":
			out = append(out, picture("image", one.Media, one.Data))
		case "thinking":
			p := history.Part{Type: history.Thinking, Text: one.Thinking, Origin: origin}
			switch {
			case origin == "" || one.Redacted: // to nobody we know
			case strings.HasPrefix(one.Signature, "{"):
				p.Opaque = json.RawMessage(one.Signature)
			default:
				p.Signature = one.Signature
			}
			out = append(out, p)
		case "toolCall":
			id, _, _ := strings.Cut(one.ID, "|") // behind it stands the item's own
			p := call(id, one.Name, one.Args)
			p.Origin, p.Signature = origin, one.Thought
			out = append(out, p)
		}
	}
	return out
}

func piResult(m piMessage) []history.Part {
	id, _, _ := strings.Cut(m.CallID, "|")
	out := history.Part{Type: history.Result, CallID: id, Name: m.Tool, IsError: m.Error}
	var rest []history.Part
	for _, p := range piContent(m.Content, m) {
		if p.Type == history.Text {
			out.Text += p.Text
		} else {
			rest = append(rest, p)
		}
	}
	return append([]history.Part{out}, rest...)
}
