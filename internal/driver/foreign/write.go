package foreign

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/model/catalog"
)

// Writer writes a conversation as a session of another program, which it can go on with.
// What it writes is read by this package as the same conversation, but for what the program
// has no place for: thinking that is not its own vendor's, facts of the moment. A call that
// nobody answered gets a result that says so.
type Writer struct {
	Session
	out  *bufio.Writer
	form writing
	now  time.Time
	open []history.Part // calls without a result
	name map[string]string
	up   string // name of the line before
	made int
	// drawn is how many names were given.
	drawn int
}

// writing is how a program writes.
type writing interface {
	head(w *Writer) []any
	lines(w *Writer, k history.Kind, parts []history.Part) []any
}

// Writes lists the programs for which sessions are written.
func Writes() []string { return []string{Claude, Codex, Pi} }

// NewWriter begins a session of a program. s tells Cwd, Model and Started; its ID is drawn.
func NewWriter(program string, s Session, to io.Writer) (*Writer, error) {
	s.Program, s.ID = program, uuid.NewString()
	w := &Writer{Session: s, out: bufio.NewWriter(to), now: s.Started, name: map[string]string{}}
	switch program {
	case Claude:
		w.form = claudeWriting{}
	case Codex:
		w.form = codexWriting{}
	case Pi:
		w.form = piWriting{}
	default:
		return nil, fault.New(fault.Usage, "ramet can't write sessions of %.40q", program).WithHint("known: %s", strings.Join(Writes(), ", "))
	}
	return w, w.write(w.form.head(w))
}

// Add writes a message.
func (w *Writer) Add(k history.Kind, parts []history.Part, at time.Time) error {
	if !at.IsZero() {
		w.now = at
	}
	parts = slices.DeleteFunc(slices.Clone(parts), func(p history.Part) bool { return p.Type == history.Facts })
	for i := range parts {
		parts[i].Memo, parts[i].Sources = nil, nil
	}
	if k != history.ToolResult {
		if err := w.answer(); err != nil {
			return err
		}
	}
	for _, p := range parts {
		switch p.Type {
		case history.ToolCall:
			w.open = append(w.open, p)
			w.name[p.CallID] = p.Name
		case history.Result:
			w.open = slices.DeleteFunc(w.open, func(c history.Part) bool { return c.CallID == p.CallID })
		}
	}
	if len(parts) == 0 {
		return nil
	}
	w.made++
	return w.write(w.form.lines(w, k, parts))
}

// answer closes calls that have no result.
func (w *Writer) answer() error {
	open := w.open
	w.open = nil
	for _, p := range open {
		closed := []history.Part{{Type: history.Result, CallID: p.CallID, Name: p.Name, Text: "there is no result: the call was interrupted", IsError: true}}
		if err := w.write(w.form.lines(w, history.ToolResult, closed)); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the session. NOT_FOUND: there was nothing to write.
func (w *Writer) Close() error {
	if w.made == 0 {
		return fault.New(fault.NotFound, "nothing in the context lets %s continue", w.Program)
	}
	if err := w.answer(); err != nil {
		return err
	}
	return w.out.Flush()
}

func (w *Writer) write(lines []any) error {
	enc := json.NewEncoder(w.out)
	enc.SetEscapeHTML(false)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return fault.New(fault.StorageIO, "write a session of %s: %w", w.Program, err)
		}
	}
	return nil
}

// stamp is the moment of what is being written.
func (w *Writer) stamp() string { return w.now.UTC().Format("2006-01-02T15:04:05.000Z") }

// object is arguments that are an object, as every program wants them.
func object(p history.Part) json.RawMessage {
	if p.Malformed == "" && strings.HasPrefix(strings.TrimSpace(string(p.Args)), "{") {
		return p.Args
	}
	if p.Malformed == "" {
		return json.RawMessage("{}")
	}
	out, _ := json.Marshal(map[string]string{"malformed": p.Malformed}) // texts always can be
	return out
}

var notPlain = text.Regexp(`[^A-Za-z0-9]`)

// Place is where the program looks for the session, below a person's home, and the command
// that opens it there.
func (w *Writer) Place(env func(string) string) (path, command string) {
	dir, day := sessionsFolder(w.Program, env), w.Started.UTC()
	switch w.Program {
	case Claude:
		return filepath.Join(dir, notPlain().ReplaceAllString(w.Cwd, "-"), w.ID+".jsonl"), "claude --resume " + w.ID
	case Codex:
		return filepath.Join(dir, day.Format("2006/01/02"), "rollout-"+day.Format("2006-01-02T15-04-05")+"-"+w.ID+".jsonl"), "codex resume " + w.ID
	}
	folder := "--" + strings.NewReplacer("/", "-", "\\", "-", ":", "-").Replace(strings.TrimLeft(w.Cwd, "/\\")) + "--"
	name := strings.NewReplacer(":", "-", ".", "-").Replace(day.Format("2006-01-02T15:04:05.000Z")) + "_" + w.ID + ".jsonl"
	return filepath.Join(dir, folder, name), "pi --session " + w.ID
}

type codexWriting struct{}

// codexWritten is the version of Codex whose lines these are.
const codexWritten = "0.166.0"

func (codexWriting) cover(w *Writer, kind string, payload any) map[string]any {
	return map[string]any{"timestamp": w.stamp(), "type": kind, "payload": payload}
}

func (c codexWriting) head(w *Writer) []any {
	return []any{c.cover(w, "session_meta", map[string]any{"id": w.ID, "session_id": w.ID, "timestamp": w.stamp(), "cwd": w.Cwd, "originator": "ramet",
		"cli_version": codexWritten, "source": "cli"})}
}

func (c codexWriting) lines(w *Writer, k history.Kind, parts []history.Part) []any {
	var out []any
	item := func(payload any) { out = append(out, c.cover(w, "response_item", payload)) }
	switch k {
	case history.ToolResult:
		for _, one := range results(parts) {
			item(codexAnswer(w, one))
		}
		return out
	case history.Assistant:
		for _, p := range parts {
			if one := codexAnswered(p); one != nil {
				item(one)
			}
			if p.Type == history.Text {
				out = append(out, c.cover(w, "event_msg", map[string]any{"type": "agent_message", "message": p.Text}))
			}
		}
		return out
	}
	role := "user"
	if k == history.System {
		role = "developer"
	}
	content := []any{}
	for _, p := range parts {
		switch {
		case p.Type == history.Text:
			content = append(content, map[string]any{"type": "input_text", "text": p.Text})
		case p.Type == history.Image:
			content = append(content, codexImage(p))
		case p.Type.IsData():
			content = append(content, map[string]any{"type": "input_text", "text": p.About()})
		}
	}
	item(map[string]any{"type": "message", "role": role, "content": content})
	if role == "user" {
		out = append(out, c.cover(w, "event_msg", map[string]any{"type": "user_message", "message": history.Plain(parts), "images": []any{}}))
	}
	return out
}

func codexImage(p history.Part) map[string]any {
	return map[string]any{"type": "input_image", "image_url": "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)}
}

// codexAnswered returns a part of an answer as an item, or nil if it is of another vendor.
func codexAnswered(p history.Part) any {
	own := p.Origin == string(catalog.Responses)
	switch p.Type {
	case history.Text:
		m := map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": p.Text}}}
		var kept struct{ Phase string }
		if own && json.Unmarshal(p.Opaque, &kept) == nil && kept.Phase != "" {
			m["phase"] = kept.Phase
		}
		return m
	case history.Thinking, history.Search:
		if own && len(p.Opaque) > 0 {
			return json.RawMessage(p.Opaque)
		}
	case history.ToolCall:
		if in, ok := customInput(p); ok {
			return map[string]any{"type": "custom_tool_call", "status": "completed", "call_id": p.CallID, "name": p.Name, "input": in}
		}
		return map[string]any{"type": "function_call", "name": p.Name, "arguments": string(object(p)), "call_id": p.CallID}
	}
	return nil
}

// patchTool is the tool of Codex whose input is no JSON.
const patchTool = "apply_patch"

func customInput(p history.Part) (string, bool) {
	var args map[string]string
	if p.Name != patchTool || json.Unmarshal(p.Args, &args) != nil || len(args) != 1 {
		return "", false
	}
	in, ok := args["input"]
	return in, ok
}

func codexAnswer(w *Writer, one []history.Part) map[string]any {
	r := one[0]
	kind := "function_call_output"
	if w.name[r.CallID] == patchTool {
		kind = "custom_tool_call_output"
	}
	out := map[string]any{"type": kind, "call_id": r.CallID, "output": r.Text}
	if len(one) > 1 {
		list := []any{map[string]any{"type": "input_text", "text": r.Text}}
		for _, p := range one[1:] {
			if p.Type == history.Image {
				list = append(list, codexImage(p))
			}
		}
		out["output"] = list
	}
	return out
}
