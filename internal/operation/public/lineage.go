package public

import (
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
)

// Lineage is everybody who ever was, in time: what a picture of forks, mail, marks, rewinds and
// kills is made of.
type Lineage struct {
	Agents  []LineageAgent  `json:"agents"`  // parents before children
	Points  []LineagePoint  `json:"points"`  // by id
	Letters []LineageLetter `json:"letters"` // by id, deleted ones too
	More    bool            `json:"more"`    // older points or letters are not told
}

// LineageAgent is one line of the picture.
type LineageAgent struct {
	UUID   id.Agent    `json:"uuid"`
	Name   string      `json:"name"` // what people call it
	Parent *id.Agent   `json:"parent_uuid"`
	Fork   *id.Message `json:"fork_message_id"` // last message of its parent that it knows
	State  State       `json:"state"`
	From   string      `json:"from"`       // when it was forked
	Until  string      `json:"until"`      // when it was killed, else when it last wrote
	Killed bool        `json:"killed"`     // it is dead
	Reason *string     `json:"end_reason"` // why it is dead
	Head   id.Message  `json:"head_message_id"`
	Own    int64       `json:"own_messages"`
	Spent  Spent       `json:"spent"`
	Run    bool        `json:"run"` // it works for a run
}

// LineagePoint is an entry that changes what others mean: a mark, a rewind, a clear, a compact.
type LineagePoint struct {
	Agent  id.Agent    `json:"agent_uuid"`
	ID     id.Message  `json:"message_id"`
	Kind   string      `json:"kind"`
	At     string      `json:"at"`
	Text   *string     `json:"text"`      // label of a mark, or of the mark to which a rewind goes
	Target *id.Message `json:"target_id"` // of a rewind: the last message that counts
	Back   *string     `json:"target_at"` // of a rewind: when that was said
}

// LineageLetter is one letter, without what it says. Nobody as its sender is the user, "kernel"
// is ramet itself, which tells of somebody.
type LineageLetter struct {
	ID     int64     `json:"id"`
	Number int64     `json:"number"`
	From   *id.Agent `json:"from_uuid"`
	About  *id.Agent `json:"about_uuid"`
	To     id.Agent  `json:"to_uuid"`
	At     string    `json:"at"`
	Read   bool      `json:"read"`
}

// FormatLineageAgent is the shape of an agent. until is when it last wrote.
func FormatLineageAgent(a agent.Agent, now state.State, until string, run bool) LineageAgent {
	out := LineageAgent{UUID: a.ID, Name: a.Label(), Parent: Optional(a.Parent), Fork: Optional(a.ForkMessage), State: *FormatState(now), From: Stamp(a.CreatedAt), Until: until,
		Killed: a.Status == agent.Dead, Reason: Optional(a.EndReason), Head: a.Head, Own: a.Own, Spent: Spent(a.Spent), Run: run}
	if out.Killed {
		out.Until = Stamp(a.EndedAt)
	}
	if out.Until < out.From {
		out.Until = out.From
	}
	return out
}

// maxPoint limits the length of a label.
const maxPoint = 200

// FormatPoint is the shape of an entry that shapes; ok is false where it cannot be read.
func FormatPoint(e history.Entry, of registry.Ties) (p LineagePoint, ok bool) {
	m, err := e.Decode()
	if err != nil || m.Run != "" {
		return p, false
	}
	p = LineagePoint{Agent: e.Agent, ID: e.ID, Kind: string(e.Kind), At: Stamp(e.CreatedAt), Text: Optional(text.Line(m.Label, maxPoint))}
	if e.Kind == history.Rewind {
		if target, err := id.ParseMessage(m.Target); err == nil {
			p.Target, p.Back = Optional(target), Optional(Stamp(of.Times[target]))
		}
	}
	return p, true
}

// FormatLineageLetter is the shape of a letter in the picture.
func FormatLineageLetter(l mail.Letter) LineageLetter {
	return LineageLetter{ID: l.ID, Number: l.Number, From: Optional(l.From), About: Optional(l.About), To: l.To, At: Stamp(l.CreatedAt), Read: !l.ReadAt.IsZero()}
}
