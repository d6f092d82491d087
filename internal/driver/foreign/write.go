package foreign

import (
	"bufio"
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
