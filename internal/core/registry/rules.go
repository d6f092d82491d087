package registry

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/model/llm"
)

// The entries that verbs write of themselves. Stores call these, so that both
// write the same.

// Genesis returns the first entry of every history: it binds what the row says.
func Genesis(a agent.Agent) history.Draft {
	m := history.Meta{Name: &a.Name, Provider: a.Provider, Model: a.Model, Cwd: a.Cwd}
	if !a.IsZero() {
		m.Parent, m.ForkMessage = a.Parent, a.ForkMessage.String()
	}
	return history.Draft{Kind: history.Fork, Meta: m}
}

// ForkEntry returns the parent's record of a fork.
func ForkEntry(children []Child, run string) history.Draft {
	ids := make([]id.Agent, len(children))
	for i, c := range children {
		ids[i] = c.ID
	}
	return history.Draft{Kind: history.Fork, Meta: history.Meta{Children: ids, Run: run}}
}

// KilledEntry ends a history.
func KilledEntry(by id.Agent, reason string) history.Draft {
	return history.Draft{Kind: history.Killed, Meta: history.Meta{By: string(by), Reason: reason}}
}

// CutOff returns what was shown of a reply whose agent is killed.
func CutOff(shown string) history.Draft {
	return history.Draft{Kind: history.Interrupted, Meta: history.Meta{Reason: "the agent was killed"},
		Parts: []history.Part{{Type: history.Text, Text: shown}}}
}

// NoResult returns the result of a call whose agent is killed while it runs.
func NoResult(call history.Part) history.Draft {
	return history.Draft{Kind: history.ToolResult, Parts: []history.Part{{Type: history.Result, CallID: call.CallID, Name: call.Name,
		Text: "interrupted: the agent was killed; whether the call took effect is not known", IsError: true}}}
}

// RenameEntry records a name.
func RenameEntry(name string) history.Draft {
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: "rename", Name: &name}}
}

// MailEntry returns the sender's record of a letter; reason is that of a report.
func MailEntry(l mail.Letter, body chain.Hash, reason string) history.Draft {
	return history.Draft{Kind: history.Mail, Meta: history.Meta{
		LetterID: id.Message(l.ID).String(), To: string(l.To), Body: body.String(), Reason: reason}}
}

// RedactEntry records a redaction.
func RedactEntry(m id.Message) history.Draft {
	return history.Draft{Kind: history.Redact, Meta: history.Meta{Target: m.String()}}
}

// Check refuses a fork that could never be carried out.
func (f Fork) Check() error {
	if len(f.Children) == 0 {
		return fault.New(fault.Usage, "a fork needs at least one child")
	}
	if err := CheckField("the run", f.Run); err != nil {
		return err
	}
	if err := CheckField("the owner of a lease", f.Holder); err != nil {
		return err
	}
	if err := CheckDrafts(f.Entries); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, c := range f.Children {
		if _, err := id.ParseAgent(string(c.ID)); err != nil {
			return err
		}
		if err := CheckDrafts(c.Entries); err != nil {
			return err
		}
		for _, f := range [][2]string{{"the provider", c.Provider}, {"the model", c.Model}, {"the folder", c.Cwd}} {
			if err := CheckField(f[0], f[1]); err != nil {
				return err
			}
		}
		if c.Name == "" {
			continue
		}
		if err := agent.CheckName(c.Name); err != nil {
			return err
		}
		if names[c.Name] {
			return NameTaken(c.Name)
		}
		names[c.Name] = true
	}
	return nil
}

// CheckDrafts refuses entries of no known kind, those that only a verb of its
// own may write, because the registry or a mailbox must agree with them, and
// those that would falsify what was spent or may be.
func CheckDrafts(drafts []history.Draft) error {
	for _, d := range drafts {
		switch {
		case !slices.Contains(history.Kinds(), d.Kind):
			return fault.New(fault.InvalidKind, "%.40q is not a kind of entry", d.Kind)
		case d.Kind == history.Fork || d.Kind == history.Killed || d.Kind == history.Redact || d.Kind == history.Mail || d.Meta.Name != nil:
			return fault.New(fault.InvalidKind, "an entry of kind %s is not appended, its verb writes it", d.Kind)
		}
		if err := checkAccount(d); err != nil {
			return err
		}
	}
	return nil
}

// maxField is the longest text in a row of the registry: that of a path.
const maxField = 4096

// Separator stands between the texts of a row when a store reads them together
// (ASCII's unit separator). No text of the registry holds it.
const Separator = "\x1f"

// CheckField refuses a text that a row of the registry and the JSON of its
// history would not hold alike. Empty is none.
func CheckField(what, s string) error {
	if s == "" {
		return nil
	}
	if strings.Contains(s, Separator) {
		return fault.New(fault.InvalidText, "%s contains a unit separator (0x1f)", what).WithHint("leave it out")
	}
	return fault.CheckText(fault.InvalidText, what, s, maxField)
}

// Check refuses a kill that could not be recorded.
func (k Kill) Check() error { return CheckField("the reason", k.Reason) }

// Born returns the row of a new child, before its first entry.
func Born(parent agent.Agent, c Child, at time.Time) agent.Agent {
	a := agent.Agent{
		ID: c.ID, Name: c.Name, Parent: parent.ID, ForkMessage: parent.Head, Depth: parent.Depth + 1,
		Status: agent.Running, CreatedAt: at, Provider: c.Provider, Model: c.Model, Cwd: c.Cwd,
		Total: parent.Total, HeadHash: parent.HeadHash, // the first link hangs on the fork point
	}
	if a.Provider == "" && a.Model == "" {
		a.Provider, a.Model = parent.Provider, parent.Model
	}
	a.Cwd = cmp.Or(a.Cwd, parent.Cwd)
	return a
}

// NameTaken returns the refusal of a name that a living agent has.
func NameTaken(name string) error {
	return fault.New(fault.Conflict, "a living agent is called %q already", name).
		WithHint("choose another name, or kill or rename that one")
}

// MayKill refuses the end of agent 0.
func MayKill(a agent.Agent) error {
	if a.IsZero() {
		return fault.New(fault.AgentZero, "agent 0 cannot be killed").
			WithHint("it is the root of the workspace; `ramet clear 0` empties its context")
	}
	return nil
}

// ContextSize counts the messages of a context without reading them: seq gives
// how many own messages an agent has up to a bound.
func ContextSize(pieces []history.Piece, seq func(id.Agent, history.Bound) (int64, error)) (int64, error) {
	var n int64
	for _, p := range pieces {
		if p.Summary != nil {
			n++
			continue
		}
		upper, err := seq(p.Agent, p.End)
		if err != nil {
			return 0, err
		}
		lower, err := seq(p.Agent, history.UpTo(p.Start))
		if err != nil {
			return 0, err
		}
		n += max(0, upper-lower)
	}
	return n, nil
}

// ToolsCommand is the command of an entry that limits the tools of an agent, and of all that
// are born below it. No clear, no rewind and no compaction takes it back: an agent that is limited
// cannot make anybody who is not.
const ToolsCommand = "tools"

// LimitEntry records that an agent has only these of the tools that it would have.
func LimitEntry(l history.Limit) history.Draft {
	if l.Tools == nil {
		l.Tools = []string{}
	}
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: ToolsCommand, Limit: &l}}
}

// Limit is one of an agent's, and in whose history it stands.
type Limit struct {
	history.Limit
	Of id.Agent
}

// Limits returns all that hold for an agent: its own, and those of its ancestors when it was born,
// the oldest first. It has what each of them leaves.
func Limits(ctx context.Context, log history.Log, a id.Agent) ([]Limit, error) {
	line, err := log.Lineage(ctx, a)
	if err != nil {
		return nil, err
	}
	var out []Limit
	end := history.NoLimit
	for _, one := range line {
		var of []Limit
		for e, err := range log.QueryRange(ctx, history.Range{Agent: one.Agent, End: end}, history.Selection{Orders: true}) {
			if err != nil {
				return nil, err
			}
			m, err := e.Decode()
			if err != nil {
				return nil, err
			}
			if m.Command == ToolsCommand && m.Limit != nil {
				of = append(of, Limit{*m.Limit, one.Agent})
			}
		}
		out = slices.Concat(of, out)
		end = history.UpTo(one.ForkMessage)
	}
	return out, nil
}

// checkLimit refuses a limit in another entry than that of its command, and one without.
func checkLimit(d history.Draft) error {
	if sets := d.Kind == history.Command && d.Meta.Command == ToolsCommand; sets != (d.Meta.Limit != nil) {
		return fault.New(fault.InvalidEvent, "an entry of kind %s and command %.40q cannot limit tools, and command %s must",
			d.Kind, d.Meta.Command, ToolsCommand)
	}
	return nil
}

// EffortCommand is the command of an entry that says how hard the model of an agent
// is to think: from there on, and for the children born after it.
const EffortCommand = "effort"

// EffortEntry records that an agent was told an effort.
func EffortEntry(e llm.Effort) history.Draft {
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: EffortCommand, Effort: string(e)}}
}

// Effort returns the effort that an agent was told, itself or before it was born, and by
// whose history. No process was told: both are empty.
func Effort(ctx context.Context, log history.Log, a id.Agent) (_ llm.Effort, of id.Agent, _ error) {
	told, of, err := LastOrder(ctx, log, a, func(m history.Meta) bool { return m.Command == EffortCommand })
	return llm.Effort(told.Effort), of, err
}

// EffortSince returns the effort that an agent was told, of which is known what it was when an entry was its
// newest: only what it was told since is read.
func EffortSince(ctx context.Context, log history.Log, a id.Agent, known llm.Effort, at id.Message) (llm.Effort, error) {
	for e, err := range log.QueryRange(ctx, history.Range{Agent: a, Start: at, End: history.NoLimit}, history.Selection{Orders: true}) {
		if err != nil {
			return "", err
		}
		m, err := e.Decode()
		if err != nil {
			return "", err
		}
		if m.Command == EffortCommand {
			known = llm.Effort(m.Effort)
		}
	}
	return known, nil
}

// checkEffort refuses an effort that no model has.
func checkEffort(d history.Draft) error {
	if sets := d.Kind == history.Command && d.Meta.Command == EffortCommand; sets != (d.Meta.Effort != "") {
		return fault.New(fault.InvalidEvent, "an entry of kind %s and command %.40q cannot set an effort, and command %s must",
			d.Kind, d.Meta.Command, EffortCommand)
	}
	_, err := llm.ParseEffort(d.Meta.Effort)
	return err
}
