package gateway

import (
	"bytes"
	"encoding/json"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// meter reads what a vendor counted out of an answer as it goes by: a stream of events, or one
// JSON document.
type meter struct {
	events bool   // it is a stream of events
	line   []byte // what has come of an event, or of the document
	over   bool   // it is too long to be kept
	got    llm.Usage
	told   bool
	last   bool   // the vendor has said that this is all
	ends   func() // is told that; nil: nobody
}

// maxLine is the longest event that is read; a longer one goes through all the same.
const maxLine = 8 << 20

// Write implements io.Writer, and never fails.
func (m *meter) Write(b []byte) (int, error) {
	n := len(b)
	if !m.events {
		m.keep(b)
		return n, nil
	}
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			m.keep(b)
			return n, nil
		}
		m.keep(b[:i])
		m.flush()
		b = b[i+1:]
	}
}

func (m *meter) keep(b []byte) {
	if m.over = m.over || len(m.line)+len(b) > maxLine; !m.over {
		m.line = append(m.line, b...)
	}
}

// flush reads a line.
func (m *meter) flush() {
	text := bytes.TrimSpace(m.line)
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("data:")))
	if !m.over && bytes.Contains(text, []byte("sage")) { // usage, usageMetadata
		m.read(text)
	}
	m.line, m.over = m.line[:0], false
}

// counts are the numbers of all vendors.
type counts struct {
	Input   int64 `json:"input_tokens"`
	Output  int64 `json:"output_tokens"`
	Written int64 `json:"cache_creation_input_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Kept    struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Server struct {
		Searches int64 `json:"web_search_requests"`
	} `json:"server_tool_use"`
	InputParts struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputParts struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Prompt      int64 `json:"prompt_tokens"`
	Completion  int64 `json:"completion_tokens"`
	PromptParts struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionParts struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

type said struct {
	Type     string
	Usage    *counts
	Message  struct{ Usage *counts }
	Response struct{ Usage *counts }
	Raw      *struct {
		Prompt     int64 `json:"promptTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"`
		ToolUse    int64 `json:"toolUsePromptTokenCount"`
	} `json:"usageMetadata"`
}

// read takes the numbers of one event or document. Later ones replace earlier ones, as the
// vendors count up.
func (m *meter) read(text []byte) {
	if len(text) > 0 && text[0] == '[' { // a stream of Gemini's, as a list
		var list []json.RawMessage
		if json.Unmarshal(text, &list) == nil {
			for _, one := range list {
				m.read(one)
			}
		}
		return
	}
	var s said
	if json.Unmarshal(text, &s) != nil {
		return
	}
	said := s.Raw != nil
	for _, c := range []*counts{s.Message.Usage, s.Response.Usage, s.Usage} {
		if c != nil {
			said = true
			m.take(*c)
		}
	}
	if g := s.Raw; g != nil {
		m.told, m.got = true, llm.Usage{Input: wire.Rest(g.Prompt+g.ToolUse, g.Cached), CacheRead: g.Cached, Output: g.Candidates + g.Thoughts, Reasoning: g.Thoughts}
	}
	if said && s.Type != "message_start" { // which tells what was read alone
		if m.last = true; m.ends != nil {
			m.ends()
		}
	}
}

func (m *meter) take(c counts) {
	m.told = true
	if c.Prompt > 0 || c.Completion > 0 {
		m.got = llm.Usage{Input: wire.Rest(c.Prompt, c.PromptParts.Cached), CacheRead: c.PromptParts.Cached, Output: c.Completion, Reasoning: c.CompletionParts.Reasoning}
		return
	}
	if c.Input > 0 || c.InputParts.Cached > 0 {
		m.got.Input, m.got.CacheRead = wire.Rest(c.Input, c.InputParts.Cached), c.InputParts.Cached
	}
	m.got.CacheRead, m.got.CacheWrite = max(m.got.CacheRead, c.Read), max(m.got.CacheWrite, c.Written)
	m.got.CacheHour, m.got.Searches = max(m.got.CacheHour, c.Kept.Hour), max(m.got.Searches, c.Server.Searches)
	m.got.Output, m.got.Reasoning = max(m.got.Output, c.Output), max(m.got.Reasoning, c.OutputParts.Reasoning)
}

// end is what was counted; false: the answer ended before the vendor said it, or it said what cannot be:
// that nothing was read and written, or more than any call takes.
func (m *meter) end() (llm.Usage, bool) {
	m.flush()
	if _, ok := wire.Plausible(m.got); !ok {
		return llm.Usage{}, false
	}
	return m.got, m.told && m.last && m.got.Total() > 0
}
