package history

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
)

// Entry is one stored entry of a history.
type Entry struct {
	ID        id.Message
	Agent     id.Agent
	Kind      Kind
	Content   []byte // encoded parts, see Encode; nil once redacted
	Meta      []byte // a JSON object in canonical form
	CreatedAt time.Time
	Hash      chain.Hash
}

// Record is an entry with everything that verification needs.
type Record struct {
	Entry
	Salt       []byte // nil once redacted
	Commitment chain.Hash
	Seq        int64 // how many own entries up to this one reach the model
}

// Redacted reports whether the content was deleted.
func (r Record) Redacted() bool { return r.Content == nil && r.Salt == nil }

// Meta describes what an entry says beside its content. Ids are decimal strings: they
// are hashed in RFC 8785 form, whose numbers are doubles.
type Meta struct {
	// fork, the first entry of a child: where it comes from, and what it is.
	Parent      id.Agent `json:"parent_uuid,omitempty"`
	ForkMessage string   `json:"fork_message_id,omitempty"`
	Name        *string  `json:"name,omitempty"`     // also: command rename
	Provider    string   `json:"provider,omitempty"` // with Model also: command model
	Model       string   `json:"model,omitempty"`
	Cwd         string   `json:"cwd,omitempty"`
	// fork, in the parent: who was born.
	Children []id.Agent `json:"children,omitempty"`
	// fork, in the parent: the run that they were made for; its conversation does not tell
	// of them.
	Run string `json:"run,omitempty"`
	// user, the task of a child that a tool forked: what its report does to its parent.
	// command then: the same, of Children that work already.
	Then Then `json:"then,omitempty"`

	Label    string   `json:"label,omitempty"`    // mark; rewind, when asked for by label
	Target   string   `json:"target,omitempty"`   // rewind, redact
	StartID  string   `json:"start_id,omitempty"` // compact: first and last message replaced
	EndID    string   `json:"end_id,omitempty"`
	Keep     []string `json:"keep,omitempty"`   // compact: of the replaced messages, those that stay all the same, before the summary
	Short    []string `json:"short,omitempty"`  // compact: messages that are shown in a short form from now on
	By       string   `json:"by,omitempty"`     // killed: an agent's uuid, or empty for the user
	Reason   string   `json:"reason,omitempty"` // killed
	Command  string   `json:"command,omitempty"`
	LetterID string   `json:"letter_id,omitempty"` // mail
	To       string   `json:"to,omitempty"`
	Body     string   `json:"body_commitment,omitempty"`

	Call   *Call   `json:"call,omitempty"`   // usage
	Budget *Budget `json:"budget,omitempty"` // command budget

	Actor      *Actor      `json:"actor,omitempty"`      // the person who did it; nil: a model, or ramet itself
	Permission *Permission `json:"permission,omitempty"` // tool_result, command permit: who let the call run, or not
	CallID     string      `json:"call_id,omitempty"`    // command permit: of which call
	Mode       string      `json:"mode,omitempty"`       // command mode
	Effort     string      `json:"effort,omitempty"`     // command effort: how hard the model is to think

	Limit   *Limit   `json:"limit,omitempty"`   // command tools
	Foreign []string `json:"foreign,omitempty"` // command foreign: where content came from that neither the user nor the project wrote
	Files   *State   `json:"files,omitempty"`   // files
	Hook    *Hook    `json:"hook,omitempty"`    // command hook

	Driver *Driver `json:"driver,omitempty"` // of another program; nil: of ramet itself

	Import *Imported `json:"import,omitempty"` // import
	// What was imported: when it was said, and the bytes of the source that it is made of,
	// as Bytes writes them.
	OriginalTime string `json:"original_time,omitempty"`
	Source       string `json:"source,omitempty"`
}

// Limit is a list of tools that an agent has no more than.
type Limit struct {
	By    string   `json:"by"`    // who says so: agent NAME, skill NAME
	Tools []string `json:"tools"` // as definitions name them
}

func (l Limit) String() string {
	if len(l.Tools) == 0 {
		return "no tools, by " + l.By
	}
	return "only the tools " + strings.Join(l.Tools, ", ") + ", by " + l.By
}

// Then describes what the report of a task does.
type Then string

// It lies in the parent's mailbox; or it begins a turn of a parent that does nothing.
const (
	ThenMail Then = "mail"
	ThenWake Then = "wake"
)

// ThenCommand verbs children over: their reports wake their parent.
const ThenCommand = "then"

// Call describes what a usage entry tells of one call of a model. Money and tokens are
// whole numbers below 2^53, which RFC 8785 keeps as they are.
type Call struct {
	Model      string `json:"model"`              // vendor/name
	Request    string `json:"request,omitempty"`  // SHA-256 of the bytes sent, in hex
	Response   string `json:"response,omitempty"` // and of the answer, of calls that went through the gateway
	Outcome    string `json:"outcome"`            // a finish reason, a fault code, or abandoned
	Input      int64  `json:"input"`
	Output     int64  `json:"output"`
	CacheRead  int64  `json:"cache_read"`
	CacheWrite int64  `json:"cache_write"`
	Reasoning  int64  `json:"reasoning"`
	Cost       int64  `json:"cost_nano_usd"`
	Priced     bool   `json:"priced"`          // false: the price is unknown, and Cost is 0
	Asked      int64  `json:"asked,omitempty"` // what another program wanted to have written at most, where the gateway lowered that
	Attempts   int    `json:"attempts"`
	FirstMS    int64  `json:"first_ms"`
	TookMS     int64  `json:"took_ms"`
}

// Tokens returns all tokens of the call, each counted once.
func (c Call) Tokens() int64 { return c.Input + c.Output + c.CacheRead + c.CacheWrite }

// Budget describes what an agent and everything below it may spend in all, from its
// birth on; nil is no limit.
type Budget struct {
	Tokens *int64 `json:"tokens,omitempty"`
	Cost   *int64 `json:"cost_nano_usd,omitempty"`
}

// Decode reads the meta of an entry.
func (e Entry) Decode() (Meta, error) {
	var m Meta
	if err := json.Unmarshal(e.Meta, &m); err != nil {
		return m, fault.New(fault.HistoryDamaged, "agent %s message %d: meta is not readable: %w", e.Agent, e.ID, err)
	}
	return m, nil
}

// Draft is an entry that is not written yet.
type Draft struct {
	Kind  Kind
	Parts []Part
	Meta  Meta
}

// MaxText is the largest text of one message.
const MaxText = 64 << 20

// MaxLabel is the longest label of a mark, in bytes.
const MaxLabel = 64

// Say drafts a message of one text.
func Say(k Kind, s string) (Draft, error) {
	if err := fault.CheckText(fault.InvalidText, "the message", s, MaxText); err != nil {
		return Draft{}, err
	}
	return Draft{Kind: k, Parts: []Part{{Type: Text, Text: s}}}, nil
}

// NewClear drafts a wall.
func NewClear() Draft { return Draft{Kind: Clear} }

// NewMark drafts a mark; the label may be empty.
func NewMark(label string) (Draft, error) {
	if label == "" {
		return Draft{Kind: Mark}, nil
	}
	if err := CheckLabel(label); err != nil {
		return Draft{}, err
	}
	return Draft{Kind: Mark, Meta: Meta{Label: label}}, nil
}

// CheckLabel refuses labels that could not be typed or shown.
func CheckLabel(label string) error {
	if err := fault.CheckText(fault.InvalidLabel, "the label", label, MaxLabel); err != nil {
		return err
	}
	if text.Line(label, MaxLabel) != label {
		return fault.New(fault.InvalidLabel, "label %q has control characters or spaces at its ends", label).
			WithHint("use plain words on one line")
	}
	return nil
}

// NewRewind drafts a return to the context as it was after target.
func NewRewind(target id.Message, label string) Draft {
	return Draft{Kind: Rewind, Meta: Meta{Target: target.String(), Label: label}}
}

// NewCompact drafts the replacement of the messages from start to end by a
// summary.
func NewCompact(summary string, start, end id.Message) (Draft, error) {
	d, err := Say(Compact, summary)
	d.Meta = Meta{StartID: start.String(), EndID: end.String()}
	return d, err
}

// IDs returns a list of messages as meta has it.
func IDs(list []id.Message) []string {
	var out []string
	for _, m := range list {
		out = append(out, m.String())
	}
	return out
}

// Encode writes meta as JSON. Empty fields are left out.
func (m *Meta) Encode() ([]byte, error) {
	out, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode meta: %w", err)
	}
	return out, nil
}

// Kind classifies an entry.
type Kind string

// The kinds. The first five reach the model; of compact, its summary does.
const (
	System     Kind = "system"
	User       Kind = "user"
	Assistant  Kind = "assistant"
	ToolResult Kind = "tool_result"
	Notice     Kind = "notice" // what the kernel says to the agent, in words of its own

	Fork        Kind = "fork"
	Clear       Kind = "clear"
	Mark        Kind = "mark"
	Rewind      Kind = "rewind"
	Compact     Kind = "compact"
	Killed      Kind = "killed"
	Usage       Kind = "usage"
	Interrupted Kind = "interrupted"
	Redact      Kind = "redact"
	Mail        Kind = "mail"
	Command     Kind = "command"
	Note        Kind = "note"
	Files       Kind = "files"
	Import      Kind = "import" // what follows was written by another program
)

// Kinds lists all of them.
func Kinds() []Kind {
	return []Kind{System, User, Assistant, ToolResult, Notice, Fork, Clear, Mark, Rewind, Compact, Killed, Usage,
		Interrupted, Redact, Mail, Command, Note, Files, Import}
}

// Reaches reports whether entries of this kind are messages of the context. It
// is the one place that decides.
func (k Kind) Reaches() bool {
	return k == User || k == Assistant || k == ToolResult || k == System || k == Notice
}

// Shapes reports whether entries of this kind change what other entries mean, so
// that the reducer must see them.
func (k Kind) Shapes() bool {
	return k == Clear || k == Rewind || k == Compact || k == Mark
}

// writable are the kinds that a user may append by hand.
var writable = []string{string(User), string(Assistant), string(System), string(ToolResult), string(Note)}

// ParseWritable reads a kind that may be appended by hand.
func ParseWritable(s string) (Kind, error) {
	for _, k := range writable {
		if k == s {
			return Kind(k), nil
		}
	}
	err := fault.New(fault.InvalidKind, "%.40q is not a kind that can be appended", s)
	return "", err.WithHint("%s", text.NearestHint(s, writable, "use user, assistant, system, tool_result or note"))
}

// HookCommand is the command of entries that tell of a hook which ran: Hook.
const HookCommand = "hook"

// Hook is one firing of a program that the user or the project named for an event (package hook).
type Hook struct {
	Event    string `json:"event"`
	About    string `json:"about,omitempty"` // the tool, or what else the event is about
	Program  string `json:"program"`         // its command line, on one line
	From     string `json:"from"`            // where it stands
	Outcome  string `json:"outcome"`         // passed, objected, failed, timed out
	Why      string `json:"why,omitempty"`
	Exit     int    `json:"exit"`
	TookMS   int64  `json:"took_ms"`
	Confined bool   `json:"confined,omitempty"`
}

// String returns one line for people.
func (h Hook) String() string {
	out := h.Event
	if h.About != "" {
		out += " " + h.About
	}
	out += fmt.Sprintf(": %s %s", h.Program, h.Outcome)
	if h.Why != "" {
		out += ": " + h.Why
	}
	return out
}

// Driver reports that an entry is of another program that drives the agent, and how we know
// what it tells.
type Driver struct {
	Name     string `json:"name"`              // of the driver, as the user calls it
	Version  string `json:"version,omitempty"` // of the program, as it says
	Session  string `json:"session,omitempty"` // the program's own name for the conversation; empty of what went over the wire
	Attested string `json:"attested"`          // Reported, Wire or FromFile

	// command driver, the begin of a turn: how the session came to be.
	From     string `json:"from,omitempty"`     // the session that it was forked from
	Rendered bool   `json:"rendered,omitempty"` // it began with a rendering of the history

	// usage, the end of a turn: what the program reported, and what went through our gateway; the calls
	// of that stand before it, each in an entry of its own. Of what was imported: what one answer used.
	Used *Used `json:"used,omitempty"`
	Wire *Used `json:"wire,omitempty"`
}

// How we know what an entry tells.
const (
	Reported = "reported" // the program said so
	Wire     = "wire"     // it went through our gateway
	FromFile = "imported" // it is in the file of a session that was imported, and counts for no budget
)

// DriverCommand begins a turn of another program: everything before it in the context is in
// its session.
const DriverCommand = "driver"

// DriverModeCommand chooses one of the program's own modes (Mode) for an agent, from its next turn
// on, and for the children born after it.
const DriverModeCommand = "driver_mode"

// Wired reports whether an entry is one call that went through our gateway.
func (m Meta) Wired() bool {
	return m.Driver != nil && m.Driver.Attested == Wire && m.Driver.Session == "" && m.Call != nil
}

// Summed reports whether an entry ends a turn whose calls are in entries of their own.
func (m Meta) Summed() bool { return m.Driver != nil && m.Driver.Wire != nil }

// Brought reports whether an entry tells what an answer used before it was imported.
func (m Meta) Brought() bool {
	return m.Driver != nil && m.Driver.Attested == FromFile && m.Driver.Used != nil
}

// Spoke returns the model of an entry about usage.
func (m Meta) Spoke() string {
	if m.Call != nil {
		return m.Call.Model
	}
	return m.Driver.Used.Model
}

// MismatchCommand is the command of a note that a program reported something else than what went
// over the wire.
const MismatchCommand = "mismatch"

// Used describes what a turn used.
type Used struct {
	Model      string `json:"model,omitempty"` // vendor/name; of what was imported
	Input      int64  `json:"input"`
	Output     int64  `json:"output"`
	CacheRead  int64  `json:"cache_read"`
	CacheWrite int64  `json:"cache_write"`
	Reasoning  int64  `json:"reasoning"`
	Cost       int64  `json:"cost_nano_usd"`
}

// Tokens returns all tokens, each counted once.
func (u Used) Tokens() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Imported describes what an import entry tells of a session of another program. What ramet can
// prove begins with it: that the entries behind it, with a Source, are what the file of
// this hash says, and that nothing was changed since.
type Imported struct {
	Program  string `json:"program"`           // claude, codex, opencode, pi
	Version  string `json:"version,omitempty"` // of the program, as the file tells
	Session  string `json:"session"`           // its id there
	Path     string `json:"path"`              // of the file
	SHA256   string `json:"sha256"`            // of its first Bytes bytes, in hex
	Bytes    int64  `json:"bytes"`
	Lines    int64  `json:"lines"`    // or rows
	Taken    int64  `json:"taken"`    // of them, those that are in entries
	Skipped  int64  `json:"skipped"`  // and those that are not; Taken and Skipped are Lines
	Importer int    `json:"importer"` // version of the reader
	Cwd      string `json:"cwd,omitempty"`
	Model    string `json:"model,omitempty"` // vendor/name, that it spoke with last
	Title    string `json:"title,omitempty"`
	Started  string `json:"started,omitempty"`
	Of       string `json:"of,omitempty"`   // the session that it is a part of: a sub-agent's
	Call     string `json:"call,omitempty"` // the call in that session that it worked for
}

// Part reports whether it is no session that its program could take up by its name: what a
// sub-agent of Claude Code did.
func (i Imported) Part() bool { return strings.HasPrefix(i.Session, "agent-") }

// Bytes is a stretch of a source: Size bytes behind the first Offset.
type Bytes struct{ Offset, Size int64 }

// FormatBytes writes stretches as meta keeps them: 0+120 120+31.
func FormatBytes(list []Bytes) string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = fmt.Sprintf("%d+%d", b.Offset, b.Size)
	}
	return strings.Join(out, " ")
}

// ParseBytes reads what FormatBytes writes; false: it is not that.
func ParseBytes(s string) ([]Bytes, bool) {
	var out []Bytes
	for _, word := range strings.Fields(s) {
		offset, size, ok := strings.Cut(word, "+")
		from, err := strconv.ParseInt(offset, 10, 64)
		n, wrong := strconv.ParseInt(size, 10, 64)
		if !ok || err != nil || wrong != nil || from < 0 || n < 0 {
			return nil, false
		}
		out = append(out, Bytes{from, n})
	}
	return out, len(out) > 0
}
