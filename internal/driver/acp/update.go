package acp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/driver"
	"ramet/internal/model/llm"
)

// handle handles a request or a notification of the program. They arrive in order.
func (s *session) handle(method string, params json.RawMessage, reply func(any, *sdk.RequestError)) {
	switch method {
	case sdk.ClientMethodSessionUpdate:
		reply(nil, nil)
		s.update(params)
	case sdk.ClientMethodSessionRequestPermission:
		s.permission(params, reply)
	default:
		s.odd("it asks for " + method + ", which ramet does not offer: " + clip(params))
		reply(nil, sdk.NewMethodNotFound(method))
	}
}

// tell hands on an update, if somebody listens.
func (s *session) tell(u driver.Update) bool {
	s.mu.Lock()
	on := s.on
	s.mu.Unlock()
	if on == nil {
		return false
	}
	on(u)
	return true
}

func (s *session) odd(what string) { s.tell(driver.Update{Type: driver.Odd, Text: what}) }

func clip(raw []byte) string { return string(raw[:min(len(raw), 400)]) }

// update takes a session/update. The kind is looked at first: the SDK takes one that it does
// not know for another with the same members.
func (s *session) update(params json.RawMessage) {
	var note struct {
		SessionID string          `json:"sessionId"`
		Update    json.RawMessage `json:"update"`
	}
	var kind struct {
		Is string `json:"sessionUpdate"`
	}
	if json.Unmarshal(params, &note) != nil || json.Unmarshal(note.Update, &kind) != nil {
		s.odd("an update that is not readable: " + clip(params))
		return
	}
	if at := s.About().Session; note.SessionID != at && (at != "" || !strings.HasSuffix(kind.Is, "_update")) {
		return // before the session has a name here it may tell what can be chosen
	}
	ok := true
	switch kind.Is {
	case "agent_message_chunk", "agent_thought_chunk":
		ok = s.chunk(kind.Is == "agent_thought_chunk", note.Update)
	case "tool_call", "tool_call_update":
		ok = s.call(note.Update)
	case "plan":
		ok = s.plan(note.Update)
	case "usage_update":
		ok = s.usage(note.Update)
	case "available_commands_update", "current_mode_update", "config_option_update":
		ok = s.offers(kind.Is, note.Update)
	case "user_message_chunk", "session_info_update":
		// what was said stands in the history; the rest is about the session, not the turn
	default:
		ok = false
	}
	if !ok {
		s.odd("an update of a kind that ramet does not know: " + clip(note.Update))
	}
}

// content is a block, as far as ramet shows it.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	URI      string `json:"uri"`
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
	Resource struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"resource"`
}

func (c content) words() string {
	switch c.Type {
	case "text":
		return c.Text
	case "resource":
		return c.Resource.Text
	case "resource_link":
		return "[" + c.URI + "]"
	}
	return "[" + c.Type + " " + c.MimeType + "]"
}

// image is the block as one that can be kept and shown, and what it is in a few words.
func (c content) image() (llm.Part, string, bool) {
	if c.Type != "image" {
		return llm.Part{}, "", false
	}
	data, err := base64.StdEncoding.DecodeString(c.Data)
	if err != nil {
		return llm.Part{}, "", false
	}
	part, said, err := llm.PicturePart("", data)
	return part, "image: " + said, err == nil
}

func (s *session) chunk(thought bool, raw json.RawMessage) bool {
	var u struct {
		Content content `json:"content"`
	}
	if json.Unmarshal(raw, &u) != nil || u.Content.Type == "" {
		return false
	}
	kind := driver.Said
	if thought {
		kind = driver.Thought
	} else if image, said, ok := u.Content.image(); ok {
		s.tell(driver.Update{Type: driver.Drew, Text: said, Image: image})
		return true
	}
	s.tell(driver.Update{Type: kind, Text: u.Content.words()})
	return true
}

// toolCall is a call, or what is new of one.
type toolCall struct {
	ID        string          `json:"toolCallId"`
	Title     *string         `json:"title"`
	Kind      *string         `json:"kind"`
	Status    *string         `json:"status"`
	RawInput  json.RawMessage `json:"rawInput"`
	RawOutput json.RawMessage `json:"rawOutput"`
	Locations []struct {
		Path string `json:"path"`
		Line int    `json:"line"`
	} `json:"locations"`
	Content []struct {
		Type    string  `json:"type"`
		Content content `json:"content"`
		Path    string  `json:"path"`
		OldText string  `json:"oldText"`
		NewText string  `json:"newText"`
	} `json:"content"`
	Meta json.RawMessage `json:"_meta"`
}

// into puts what is new into a call.
func (t toolCall) into(c *driver.Call) {
	if t.Title != nil {
		c.Title = *t.Title
	}
	if tool := t.tool(); tool != "" {
		c.Tool = tool
	}
	if t.Kind != nil {
		c.Kind = *t.Kind
	}
	if t.Status != nil {
		c.Status = map[string]driver.Status{"in_progress": driver.Running, "completed": driver.Done, "failed": driver.Failed}[*t.Status]
	}
	c.Status = cmp.Or(c.Status, driver.Pending)
	if in := string(t.RawInput); in != "" && in != "null" && in != "{}" || c.Input == nil {
		c.Input = t.RawInput
	}
	if len(t.Locations) > 0 {
		c.Paths = nil
		for _, l := range t.Locations {
			c.Paths = append(c.Paths, l.Path)
		}
	}
	if t.Content != nil {
		c.Diffs, c.Images = nil, nil
		var words []string
		for _, part := range t.Content {
			switch part.Type {
			case "diff":
				c.Diffs = append(c.Diffs, driver.Diff{Path: part.Path, Old: part.OldText, New: part.NewText, Line: t.line(part.Path)})
			case "content":
				if image, said, ok := part.Content.image(); ok {
					c.Images, words = append(c.Images, image), append(words, said)
					continue
				}
				words = append(words, part.Content.words())
			}
		}
		c.Output = strings.Join(words, "\n")
	}
	c.Prints = c.Prints || t.printed() != ""
	if c.Output == "" && !c.Prints && len(c.Diffs) == 0 {
		c.Output = output(t.RawOutput)
	}
}

// line is where in a file the call is.
func (t toolCall) line(path string) int {
	for _, l := range t.Locations {
		if l.Path == path {
			return l.Line
		}
	}
	return 0
}

// output is what a call gave back, where the program tells it in a form of its own.
func output(raw json.RawMessage) string {
	var line string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &line) == nil {
		return line
	}
	var known map[string]json.RawMessage
	if json.Unmarshal(raw, &known) == nil {
		for _, key := range []string{"formatted_output", "aggregated_output", "output", "stdout"} {
			if json.Unmarshal(known[key], &line) == nil && line != "" {
				return line
			}
		}
	}
	return string(raw)
}

func (s *session) call(raw json.RawMessage) bool {
	var t toolCall
	if json.Unmarshal(raw, &t) != nil || t.ID == "" {
		return false
	}
	c := s.merge(t)
	s.tell(driver.Update{Type: driver.Called, Call: c, Text: t.printed()})
	return true
}

// merge is a call with all that was told of it. Only those of a prompt are kept.
func (s *session) merge(t toolCall) driver.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[t.ID]
	if c == nil {
		c = &driver.Call{ID: t.ID}
		if s.calls != nil {
			s.calls[t.ID] = c
		}
	}
	t.into(c)
	return *c
}

func (s *session) plan(raw json.RawMessage) bool {
	var u sdk.SessionUpdatePlan
	if json.Unmarshal(raw, &u) != nil {
		return false
	}
	steps := make([]driver.Step, 0, len(u.Entries))
	for _, e := range u.Entries {
		steps = append(steps, driver.Step{Text: e.Content, Status: string(e.Status)})
	}
	s.tell(driver.Update{Type: driver.Planned, Plan: steps})
	return true
}

// usage takes how full the context is, which is not what was used, and what the session cost
// so far.
func (s *session) usage(raw json.RawMessage) bool {
	var u sdk.SessionUsageUpdate
	if json.Unmarshal(raw, &u) != nil {
		return false
	}
	if u.Cost != nil && u.Cost.Currency == "USD" && u.Cost.Amount >= 0 && u.Cost.Amount < 1e6 {
		s.mu.Lock()
		s.cost = max(s.cost, llm.Money(math.Round(u.Cost.Amount*1e9)))
		s.mu.Unlock()
	}
	return true
}

// permission takes a question.
func (s *session) permission(params json.RawMessage, reply func(any, *sdk.RequestError)) {
	var q struct {
		SessionID string   `json:"sessionId"`
		ToolCall  toolCall `json:"toolCall"`
		Options   []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	if json.Unmarshal(params, &q) != nil || q.ToolCall.ID == "" {
		s.odd("a question that is not readable: " + clip(params))
		reply(nil, sdk.NewInvalidParams(nil))
		return
	}
	cancelled := sdk.RequestPermissionResponse{Outcome: sdk.RequestPermissionOutcome{Cancelled: &sdk.RequestPermissionOutcomeCancelled{Outcome: "cancelled"}}}
	choose := func(kinds ...string) sdk.RequestPermissionResponse {
		for _, kind := range kinds {
			for _, o := range q.Options {
				if o.Kind == kind {
					return sdk.RequestPermissionResponse{Outcome: sdk.RequestPermissionOutcome{Selected: &sdk.RequestPermissionOutcomeSelected{
						Outcome: "selected", OptionId: sdk.PermissionOptionId(o.ID)}}}
				}
			}
		}
		return cancelled
	}
	asked := driver.Update{Type: driver.Asked, Call: s.merge(q.ToolCall), Reply: func(r driver.Reply) {
		switch r {
		case driver.Allow:
			reply(choose("allow_once"), nil)
		case driver.Refuse:
			reply(choose("reject_once", "reject_always"), nil)
		default:
			reply(cancelled, nil)
		}
	}}
	if q.SessionID != s.About().Session || !s.tell(asked) {
		reply(cancelled, nil)
	}
}

// tool returns the program's own name of the tool, which Claude Code and goose tell beside the call: titles
// are for people.
func (t toolCall) tool() string {
	var told struct {
		Claude struct {
			Tool string `json:"toolName"`
		} `json:"claudeCode"`
		Goose struct {
			Call struct {
				Tool      string `json:"toolName"`
				Extension string `json:"extensionName"`
			} `json:"toolCall"`
		} `json:"goose"`
	}
	if len(t.Meta) == 0 || json.Unmarshal(t.Meta, &told) != nil {
		return ""
	}
	if g := told.Goose.Call; g.Tool != "" && g.Extension != "" {
		return g.Extension + "__" + strings.TrimPrefix(g.Tool, g.Extension+"__")
	}
	return told.Claude.Tool
}

// printed returns the output of a command since the last call. Codex tells pieces of the output, and the
// exit, beside the call, and never again; so do others, as clients do that show terminals.
func (t toolCall) printed() string {
	var told map[string]json.RawMessage
	if len(t.Meta) == 0 || json.Unmarshal(t.Meta, &told) != nil {
		return ""
	}
	var out strings.Builder
	for _, key := range []string{"terminal_output_delta", "terminal_output", "mcp_output_delta"} {
		var piece struct {
			Data string `json:"data"`
		}
		if raw := told[key]; raw != nil && json.Unmarshal(raw, &piece) == nil {
			out.WriteString(piece.Data)
		}
	}
	var exit struct {
		Code   int    `json:"exit_code"`
		Signal string `json:"signal"`
	}
	if raw := told["terminal_exit"]; raw != nil && json.Unmarshal(raw, &exit) == nil {
		switch {
		case exit.Signal != "":
			fmt.Fprintf(&out, "\n[signal %s]", exit.Signal)
		case exit.Code != 0:
			fmt.Fprintf(&out, "\n[exit code %d]", exit.Code)
		}
	}
	return out.String()
}
