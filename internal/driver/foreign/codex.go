package foreign

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"ramet/internal/core/history"
	"ramet/internal/model/catalog"
)

// codex is Codex: one line behind the other; what the model says in one go stands in
// several. It remembers what the lines before one told.
type codex struct {
	reader int
	group  int
	spent  int64 // tokens, of the whole session: the same is told again and again
	copied codexCopy
}

type codexLine struct {
	Time    string          `json:"timestamp"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

type codexItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
	Phase     string          `json:"phase"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	CallID    string          `json:"call_id"`
	Output    json.RawMessage `json:"output"`
	Action    json.RawMessage `json:"action"`
	Message   string          `json:"message"`
	Turns     int             `json:"num_turns"`
	Replaced  []codexItem     `json:"replacement_history"`
	Info      *codexInfo      `json:"info"`
	Turn      string          `json:"turn_id"`
}

// codexInfo is what was used: of the last answer, and of the session.
type codexInfo struct {
	Last  codexUsage `json:"last_token_usage"`
	Whole codexUsage `json:"total_token_usage"`
}

type codexUsage struct {
	Input   int64 `json:"input_tokens"` // those of the cache included
	Cached  int64 `json:"cached_input_tokens"`
	Written int64 `json:"cache_write_input_tokens"`
	Output  int64 `json:"output_tokens"`
	Thought int64 `json:"reasoning_output_tokens"`
	Total   int64 `json:"total_tokens"`
}

type codexMeta struct {
	ID       string          `json:"id"`
	Cwd      string          `json:"cwd"`
	Version  string          `json:"cli_version"`
	Time     string          `json:"timestamp"`
	Forked   string          `json:"forked_from_id"`
	Provider string          `json:"model_provider"`
	Model    string          `json:"model"`
	Source   json.RawMessage `json:"source"`
	Base     *struct {
		Thread string `json:"thread_id"`
		Bytes  int64  `json:"end_byte_offset"`
	} `json:"history_base"`
}

// unwrapped is a line of versions that wrote items without a cover.
func unwrapped(line []byte) (codexLine, error) {
	var l codexLine
	if err := decode(line, &l); err != nil {
		return l, err
	}
	if len(l.Payload) == 0 {
		l.Payload = line
		switch l.Type {
		case "":
			l.Type = "session_meta"
		case "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "local_shell_call", "web_search_call":
			l.Type = "response_item"
		}
	}
	return l, nil
}

func (c *codex) index(line []byte, s *Session) (record, names) {
	l, err := unwrapped(line)
	if err != nil {
		return record{role: broken}, names{}
	}
	var it codexItem
	decode(l.Payload, &it) // what is none is of no type
	r, n := record{role: raw}, names{kind: strings.TrimSuffix(l.Type+" "+it.Type, " ")}
	switch l.Type {
	case "session_meta", "turn_context":
		r.role = silent
		c.meta(l, s)
	case "world_state", "token_usage_record":
		if c.reader >= 2 {
			r.role = silent
		}
	case "event_msg":
		r.role, n.why = c.event(it, l.Time)
	case "compacted":
		r.role = shape
	case "response_item":
		r.role = codexRole(it)
	}
	c.copied.see(l, it, r.role)
	if r.role != answer && r.role != silent && r.role != spent {
		c.group++
	}
	if r.role == user && s.begins == "" {
		if said, err := c.read(line); err == nil && !strings.HasPrefix(history.Plain(said.Parts), "<") && !strings.HasPrefix(history.Plain(said.Parts), "# AGENTS.md") {
			s.begins = history.Plain(said.Parts)
		}
	}
	s.tell("", "", "", l.Time)
	n.group = fmt.Sprint(c.group)
	return r, n
}

// codexEvents are those that say nothing: what they tell is told by items too, or is of the program.
var codexEvents = map[string]bool{"user_message": true, "agent_message": true, "agent_reasoning": true, "agent_reasoning_raw_content": true,
	"agent_reasoning_section_break": true, "item_completed": true, "item_started": true, "token_count": true, "task_started": true, "task_complete": true, "turn_started": true, "turn_complete": true,
	"turn_aborted": true, "turn_context": true, "thread_settings_applied": true, "thread_goal_updated": true, "thread_name_updated": true, "context_compacted": true, "entered_review_mode": true,
	"exited_review_mode": true, "patch_apply_begin": true, "patch_apply_end": true, "mcp_tool_call_begin": true, "mcp_tool_call_end": true, "web_search_begin": true, "web_search_end": true,
	"image_generation_end": true, "sub_agent_activity": true, "exec_command_begin": true, "exec_command_end": true, "view_image_tool_call": true, "undo_completed": true,
	"warning": true, "error": true, "stream_error": true, "background_event": true, "turn_diff": true, "plan_update": true, "get_history_entry_response": true, "session_configured": true,
	"dynamic_tool_call_request": true, "dynamic_tool_call_response": true, "collab_agent_spawn_end": true, "collab_agent_interaction_end": true, "collab_waiting_end": true,
	"collab_close_end": true, "collab_resume_end": true, "guardian_assessment": true, "guardian_warning": true, "model_reroute": true, "deprecation_notice": true}

// event is what an event is, and why it says nothing where there is a reason.
func (c *codex) event(it codexItem, at string) (role, string) {
	switch {
	case it.Type == "thread_rolled_back":
		return shape, ""
	case it.Type == "token_count" && it.Info != nil && it.Info.Whole.Total != c.spent && c.reader >= 3:
		c.spent = it.Info.Whole.Total
		if c.reader >= 4 && c.copied.told(at) {
			return silent, "comes from its original"
		}
		return spent, ""
	case c.reader < 4 || codexEvents[it.Type]:
		return silent, ""
	}
	return raw, ""
}

func (c *codex) meta(l codexLine, s *Session) {
	var m codexMeta
	if decode(l.Payload, &m) != nil {
		return
	}
	if m.Model != "" {
		s.Model = "openai/" + m.Model
	}
	if l.Type != "session_meta" || m.ID == "" || s.ID != "" && s.ID != m.ID {
		return
	}
	s.tell(m.ID, m.Version, m.Cwd, m.Time)
	s.Forked = m.Forked
	if m.Forked != "" || m.Base != nil {
		c.copied.begins(m.ID, l.Time, m.Base != nil)
	}
	if m.Base != nil && m.Base.Thread != "" {
		s.Base = Base{m.Base.Thread, m.Base.Bytes}
	}
	var from struct {
		Sub struct {
			Spawn struct {
				Parent string `json:"parent_thread_id"`
			} `json:"thread_spawn"`
		} `json:"subagent"`
	}
	if decode(m.Source, &from) == nil {
		s.Of = from.Sub.Spawn.Parent
	}
}

func codexRole(it codexItem) role {
	switch it.Type {
	case "message":
		if it.Role == "assistant" {
			return answer
		}
		return user
	case "reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call":
		return answer
	case "function_call_output", "custom_tool_call_output":
		return result
	}
	return raw
}

func (c *codex) read(line []byte) (Said, error) {
	l, err := unwrapped(line)
	if err != nil {
		return Said{}, err
	}
	out := Said{Kind: history.Note, Time: l.Time, Parts: words(string(line))}
	var it codexItem
	if err := decode(l.Payload, &it); err != nil {
		return out, nil
	}
	switch {
	case l.Type == "compacted":
		said := it.Message
		for _, one := range it.Replaced {
			if t := c.text(one.Content); said == "" && one.Role == "user" && t != "" {
				said += t + "\n\n"
			}
		}
		if said = strings.TrimSpace(said); said != "" {
			out.Kind, out.Parts = history.Compact, words(said)
		}
	case l.Type == "event_msg" && it.Type == "thread_rolled_back":
		out.Kind, out.Parts, out.Turns = history.Rewind, nil, it.Turns
	case l.Type == "event_msg" && it.Type == "token_count" && it.Info != nil:
		u := it.Info.Last
		out.Kind, out.Parts = history.Usage, nil
		out.Used = used("", u.Input-u.Cached-u.Written, u.Output, u.Cached, u.Written, u.Thought)
	case l.Type == "response_item":
		c.said(&out, it, l.Payload)
	}
	return out, nil
}

func (c *codex) said(out *Said, it codexItem, payload json.RawMessage) {
	origin := string(catalog.Responses)
	switch it.Type {
	case "message":
		kinds := map[string]history.Kind{"assistant": history.Assistant, "developer": history.System, "system": history.System}
		if out.Kind = kinds[it.Role]; out.Kind == "" {
			out.Kind = history.User
		}
		out.Parts = c.content(it.Content)
		if it.Phase != "" && len(out.Parts) > 0 {
			if kept, err := json.Marshal(map[string]string{"phase": it.Phase}); err == nil {
				out.Parts[0].Opaque, out.Parts[0].Origin = kept, origin
			}
		}
	case "reasoning":
		out.Kind = history.Assistant
		p := history.Part{Type: history.Thinking, Text: c.text(it.Summary), Origin: origin}
		if it.Encrypted != "" {
			p.Opaque = codexThought(it)
		}
		out.Parts = []history.Part{p}
	case "function_call", "custom_tool_call", "local_shell_call":
		out.Kind = history.Assistant
		args := json.RawMessage(it.Arguments)
		switch it.Type {
		case "custom_tool_call":
			args, _ = json.Marshal(map[string]string{"input": it.Input})
		case "local_shell_call":
			it.Name, args = "local_shell", it.Action
		}
		p := call(it.CallID, it.Name, args)
		p.Origin = origin
		out.Parts = []history.Part{p}
	case "web_search_call":
		out.Kind = history.Assistant
		out.Parts = []history.Part{{Type: history.Search, Origin: origin, Opaque: append(json.RawMessage{}, payload...)}}
	case "function_call_output", "custom_tool_call_output":
		out.Kind = history.ToolResult
		out.Parts = c.result(it)
	}
}

// codexThought is what the vendor wants back of a thought.
func codexThought(it codexItem) json.RawMessage {
	summary := it.Summary
	if len(summary) == 0 || string(summary) == "null" {
		summary = json.RawMessage("[]")
	}
	kept, err := json.Marshal(map[string]any{"type": "reasoning", "id": it.ID, "summary": summary, "encrypted_content": it.Encrypted})
	if err != nil {
		return nil
	}
	return kept
}

// content is the texts and images of a message; what is neither is kept as it came.
func (c *codex) content(content json.RawMessage) []history.Part {
	var list []json.RawMessage
	if decode(content, &list) != nil {
		return words(decodeText(content))
	}
	var out []history.Part
	for _, one := range list {
		var b struct {
			Type  string  `json:"type"`
			Text  *string `json:"text"`
			Image string  `json:"image_url"`
		}
		err := decode(one, &b)
		switch {
		case err == nil && b.Image != "":
			out = append(out, linked(b.Image))
		case err == nil && b.Text != nil:
			out = append(out, words(*b.Text)...)
		case c.reader >= 4:
			out = append(out, words(string(one))...)
		default:
			out = append(out, words("")...)
		}
	}
	return out
}

func (c *codex) text(content json.RawMessage) string {
	var out []string
	for _, p := range c.content(content) {
		if p.Type == history.Text && p.Text != "" {
			out = append(out, p.Text)
		}
	}
	return strings.Join(out, "\n\n")
}

// result is a result: a text, a list, or an object that holds either.
func (c *codex) result(it codexItem) []history.Part {
	out := history.Part{Type: history.Result, CallID: it.CallID, Text: decodeText(it.Output)}
	var held struct {
		Content json.RawMessage `json:"content"`
		Output  string          `json:"output"`
		Success *bool           `json:"success"`
	}
	rest := []history.Part{}
	switch {
	case strings.HasPrefix(string(it.Output), "["):
		for _, p := range c.content(it.Output) {
			if p.Type == history.Text {
				out.Text += p.Text
			} else {
				rest = append(rest, p)
			}
		}
	case decode(it.Output, &held) == nil:
		if out.Text = held.Output; out.Text == "" {
			out.Text = c.text(held.Content)
		}
		out.IsError = held.Success != nil && !*held.Success
	}
	return append([]history.Part{out}, rest...)
}

// codexCopy finds the usage of its original that a forked session of Codex repeats: a fork that is a copy repeats
// the lines of the original, with new times; one that points at its original begins with the sum of it.
type codexCopy struct {
	forked  bool
	pointer bool      // the beginning is in the file of the original
	born    time.Time // when the fork was made
	turn    time.Time // when the turn began that lines are of; zero: unknown
	own     bool      // something was said in this session
}

// begins takes down that a session is a fork.
func (c *codexCopy) begins(id, at string, pointer bool) {
	c.forked, c.pointer = true, pointer
	if c.born = drawn7(id); c.born.IsZero() {
		c.born, _ = time.Parse(time.RFC3339, at)
	}
}

// see takes down what a line tells of whose turn it is.
func (c *codexCopy) see(l codexLine, it codexItem, r role) {
	if !c.forked {
		return
	}
	if it.Turn != "" {
		c.turn = drawn7(it.Turn)
	}
	c.own = c.own || c.pointer && r == answer
}

// copying is as long as it may take to write a copy; no model answers sooner.
const copying = time.Second

// told reports whether a line repeats usage of the original.
func (c *codexCopy) told(at string) bool {
	switch {
	case !c.forked:
		return false
	case c.pointer:
		return !c.own
	case !c.turn.IsZero():
		return c.turn.Before(c.born)
	}
	t, err := time.Parse(time.RFC3339, at)
	return err == nil && t.Before(c.born.Add(copying))
}

// drawn7 returns the time in an id that has one (UUID, version 7); else zero.
func drawn7(name string) time.Time {
	u, err := uuid.Parse(name)
	if err != nil || u.Version() != 7 {
		return time.Time{}
	}
	ms := int64(0)
	for _, b := range u[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms)
}
