package public

import (
	"encoding/json"

	"ramet/internal/base/id"
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
}

// FormatState is the shape of a state.
func FormatState(s state.State) *State {
	return &State{string(s.Word), Optional(s.Detail), Optional(s.Commands)}
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
		out.ForkMessageID = &a.ForkMessage
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
	return &v
}
