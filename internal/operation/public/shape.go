package public

import (
	"encoding/json"
	"io"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
)

// Agent is one agent.
type Agent struct {
	UUID          id.Agent    `json:"uuid"`
	Name          *string     `json:"name"`
	ParentUUID    *id.Agent   `json:"parent_uuid"`
	ForkMessageID *id.Message `json:"fork_message_id"`
	Status        string      `json:"status"`
	EndReason     *string     `json:"end_reason"`
	CreatedAt     string      `json:"created_at"`
	EndedAt       *string     `json:"ended_at"`
	Depth         int         `json:"depth"`
	OwnMessages   int64       `json:"own_messages"`
	TotalMessages int64       `json:"total_messages"`
	UnreadMail    int64       `json:"unread_mail"`
	HeadMessageID id.Message  `json:"head_message_id"`
	Provider      *string     `json:"provider"`
	Model         *string     `json:"model"`
	Driver        *string     `json:"driver,omitempty"` // another program that drives it; absent: ramet itself
	Driven        *Driven     `json:"driven,omitempty"` // of such an agent; lists alone tell
	Cwd           *string     `json:"cwd"`
	Lease         *Lease      `json:"lease"`
	Activity      *string     `json:"activity"` // Working or Interrupted; lists alone tell
	State         *State      `json:"state,omitempty"`
	Spent         Spent       `json:"spent"`
	Budget        Budget      `json:"budget"`
}

// State is the public shape of an agent's state (package state).
type State struct {
	Word     string  `json:"word"`
	Detail   *string `json:"detail"`
	Commands *string `json:"commands,omitempty"` // that it left running in the background
	// ForeignContent names the sources of content in its context that neither the user nor the project wrote.
	ForeignContent *string `json:"foreign_content,omitempty"`
}

// FormatState is the shape of a state.
func FormatState(s state.State) *State {
	return &State{string(s.Word), Optional(s.Detail), Optional(s.Commands), Optional(s.Foreign)}
}

// FormatNow is the shape of an agent, with what it does.
func FormatNow(a agent.Agent, n state.Now) Agent {
	out, now := FormatAgent(a), n.Of(a)
	out.State = FormatState(now)
	out.Activity = Optional(activity(n.Held(a.ID)))
	return out
}

// activity is the older word for what a held agent does.
func activity(by state.Holder) string {
	switch by {
	case state.Kernel:
		return string(state.Working)
	case state.Gone:
		return string(state.Interrupted)
	}
	return ""
}

// Spent sums up an agent's own calls of models.
type Spent struct {
	Tokens int64 `json:"tokens"`
	Cost   int64 `json:"cost_nano_usd"`
}

// Budget limits the spending of an agent and its subtree.
type Budget struct {
	Tokens *int64 `json:"tokens"`
	Cost   *int64 `json:"cost_nano_usd"`
}

// Lease names the holder of an agent.
type Lease struct {
	Owner string `json:"owner"`
	Epoch int64  `json:"epoch"`
	Until string `json:"until"`
}

// FormatAgent is the shape of an agent.
func FormatAgent(a agent.Agent) Agent {
	out := Agent{
		UUID: a.ID, Name: Optional(a.Name), ParentUUID: Optional(a.Parent), Status: string(a.Status),
		EndReason: Optional(a.EndReason), CreatedAt: Stamp(a.CreatedAt), EndedAt: Optional(Stamp(a.EndedAt)),
		Depth: a.Depth, OwnMessages: a.Own, TotalMessages: a.Total, UnreadMail: a.Unread, HeadMessageID: a.Head,
		Provider: Optional(a.Provider), Model: Optional(a.Model), Cwd: Optional(a.Cwd),
	}
	out.Driver = Optional(a.Driver())
	out.Spent = Spent(a.Spent)
	out.Budget = formatBudget(a.Budget)
	if !a.IsZero() {
		fork := a.ForkMessage
		out.ForkMessageID = &fork
	}
	if a.Lease.Owner != "" {
		out.Lease = &Lease{a.Lease.Owner, a.Lease.Epoch, Stamp(a.Lease.Until)}
	}
	return out
}

// Letter is one letter; nobody as its sender is the user, "kernel" is ramet itself.
type Letter struct {
	ID        int64     `json:"id"`
	Number    int64     `json:"number"`
	FromUUID  *id.Agent `json:"from_uuid"`
	AboutUUID *id.Agent `json:"about_uuid"` // of a notice of the kernel: whom it tells of
	ToUUID    id.Agent  `json:"to_uuid"`
	Body      string    `json:"body"`
	CreatedAt string    `json:"created_at"`
	ReadAt    *string   `json:"read_at"`
	InReplyTo *int64    `json:"in_reply_to"`

	Actor *history.Actor `json:"actor,omitempty"` // of the user's letters: who, and from where
	Fate  string         `json:"fate,omitempty"`  // of one that was just sent: wakes, meets or waits
	Why   string         `json:"why,omitempty"`   // it waits
}

// FormatLetter is the shape of a letter.
func FormatLetter(l mail.Letter) Letter {
	out := Letter{ID: l.ID, Number: l.Number, FromUUID: Optional(l.From), AboutUUID: Optional(l.About), ToUUID: l.To, Body: l.Body,
		CreatedAt: Stamp(l.CreatedAt), ReadAt: Optional(Stamp(l.ReadAt)), InReplyTo: Optional(l.InReplyTo), Fate: string(l.Fate), Why: l.Why}
	if l.Who != "" || l.Face != "" {
		out.Actor = &history.Actor{Who: l.Who, Face: history.Face(l.Face)}
	}
	return out
}

// Killed is the result of a kill.
type Killed struct {
	Agent  Agent      `json:"agent"`
	Killed []id.Agent `json:"killed"`
	Count  int        `json:"count"`
	Before bool       `json:"already_dead"`
}

// FormatKilled is the shape of what a kill did.
func FormatKilled(k registry.Killed) Killed {
	ids := []id.Agent{}
	for _, v := range k.Victims {
		ids = append(ids, v.ID)
	}
	return Killed{FormatAgent(k.Agent), ids, len(ids), k.Before}
}

// FormatEntry is the shape of an entry. Large contents stay where they are.
func FormatEntry(e history.Entry) Message {
	parts := json.RawMessage(e.Content)
	if len(parts) == 0 {
		parts = json.RawMessage("[]")
	}
	return Message{e.ID, e.Agent, e.Kind, parts, e.Meta, e.CreatedAt.UTC().Format(stampForm), e.Hash}
}

// Optional is null for the zero value.
func Optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	present := v // only this copy is allocated
	return &present
}

// stampForm is the format of times.
const stampForm = "2006-01-02T15:04:05.000000Z"

// Stamp returns a moment as all shapes have it; empty for none.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(stampForm)
}

// Encoder writes JSON as it is, without HTML escapes: entries keep their bytes, and our
// readers are programs and terminals, not pages.
func Encoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// Marshal encodes as json.Marshal does, without HTML escapes.
func Marshal(v any) ([]byte, error) {
	return printer.Marshal(v)
}

// Hide returns a line of JSON without secrets. One can seem to begin in one value and to
// end in another; then each value is looked at alone, so that it stays JSON.
func Hide(line string, hide func(string) string) string {
	if out := hide(line); out == line || json.Valid([]byte(out)) {
		return out
	}
	return string(text.Strings([]byte(line), hide))
}

// AgentNow is an agent and what it does at the moment.
type AgentNow struct {
	Agent
	Doing *string `json:"doing"` // in a word or two; null: nothing
}

// AgentList is agents, parents before children.
type AgentList struct {
	Agents []AgentNow `json:"agents"`
}

// FormatDoing returns the shape of an agent with what it does.
func FormatDoing(a agent.Agent, now state.Now) AgentNow {
	out := AgentNow{Agent: FormatNow(a, now)}
	if s := now.Of(a); s.Busy() {
		doing := s.Short(80)
		out.Doing = &doing
	}
	return out
}

// MaxState limits the length of a state in a row of a table.
const MaxState = 48

// Waited is the result of a wait.
type Waited struct {
	Over    bool     `json:"over"` // what was waited for has come
	Agents  []Agent  `json:"agents"`
	Letters []Letter `json:"letters"` // unread in the mailbox that was watched
}

// FormatWaited returns the shape of how a wait ended.
func FormatWaited(over bool, agents []agent.Agent, now state.Now, letters []mail.Letter) Waited {
	out := Waited{over, []Agent{}, []Letter{}}
	for _, a := range agents {
		out.Agents = append(out.Agents, FormatNow(a, now))
	}
	for _, l := range letters {
		out.Letters = append(out.Letters, FormatLetter(l))
	}
	return out
}

// Written is an entry that a verb added to a history.
type Written struct {
	ID        id.Message   `json:"id"`
	AgentUUID id.Agent     `json:"agent_uuid"`
	Kind      history.Kind `json:"kind"`
	CreatedAt string       `json:"created_at"`
	Hash      string       `json:"hash"`
}

// FormatWritten returns the shape of an entry that was added, and the error of adding it.
func FormatWritten(e history.Entry, err error) (Written, error) {
	return Written{ID: e.ID, AgentUUID: e.Agent, Kind: e.Kind, CreatedAt: Stamp(e.CreatedAt), Hash: e.Hash.String()}, err
}

// Text prints the entry's id.
func (d Written) Text(w *printer.Writer) { w.Line("%d", int64(d.ID)) }

// Entry is one entry of a history, with its contents.
type Entry struct {
	ID        id.Message     `json:"id"`
	AgentUUID id.Agent       `json:"agent_uuid"`
	Kind      history.Kind   `json:"kind"`
	Content   string         `json:"content"`
	Parts     []history.Part `json:"parts"`
	Meta      Raw            `json:"meta"`
	CreatedAt string         `json:"created_at"`
	Hash      string         `json:"hash"`
	InContext bool           `json:"in_context"`
	Redacted  bool           `json:"redacted"`
}

// Raw is JSON that is stored as it is printed.
type Raw []byte

func (j Raw) MarshalJSON() ([]byte, error) { return j, nil }

// ReadEntry decodes an entry and fetches its blobs.
func ReadEntry(e history.Entry, inContext bool, blob func(chain.Hash) ([]byte, error)) (Entry, error) {
	parts, err := e.Parts()
	if err != nil {
		return Entry{}, err
	}
	if err := history.Fill(parts, blob); err != nil {
		return Entry{}, err
	}
	if parts == nil {
		parts = []history.Part{}
	}
	return Entry{ID: e.ID, AgentUUID: e.Agent, Kind: e.Kind, Content: history.Plain(parts), Parts: parts,
		Meta: e.Meta, CreatedAt: Stamp(e.CreatedAt), Hash: e.Hash.String(), InContext: inContext,
		Redacted: e.Content == nil}, nil
}

// Permitted returns, for people, who permitted or refused a call; empty: it was not asked for.
func (e Entry) Permitted() string { return history.Entry{Meta: e.Meta}.Permitted() }

// RunMade is a run that was begun, taken up again, forked or cancelled: where it is, and how
// far its log has come.
type RunMade struct {
	RunID string `json:"run_id"`
	Path  string `json:"path"`
	State string `json:"run_state"`
}

// Text implements printer.Datum.
func (m RunMade) Text(w *printer.Writer) { w.Line("%s", m.RunID) }

// Search lists the messages of a workspace, or of one agent's history, that contain some words.
type Search struct {
	Found []Hit `json:"found"` // newest first
	More  bool  `json:"more"`  // there is more than was asked for, or than could be looked at in time
}

// Hit is one message.
type Hit struct {
	Agent  id.Agent   `json:"agent_uuid"` // who stored it
	ID     id.Message `json:"message_id"`
	Kind   string     `json:"kind"`
	At     string     `json:"created_at"`
	Around string     `json:"around"` // one line of the text near the words
}
