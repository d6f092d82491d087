package history

import (
	"encoding/json"
	"fmt"
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

	Limit *Limit `json:"limit,omitempty"` // command tools
	Files *State `json:"files,omitempty"` // files
	Hook  *Hook  `json:"hook,omitempty"`  // command hook

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
