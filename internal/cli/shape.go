package cli

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"ramet/internal/agent"
	"ramet/internal/chain"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/mail"
)

// The public JSON shapes (docs/json.md). Fields may be added, never renamed or
// removed. What is absent is null.

type agentShape struct {
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
	Cwd           *string     `json:"cwd"`
	Lease         *leaseShape `json:"lease"`
	Activity      *string     `json:"activity"` // working or interrupted; ps alone tells
	Spent         spentShape  `json:"spent"`
	Budget        budgetShape `json:"budget"`
}

type spentShape struct {
	Tokens int64 `json:"tokens"`
	Cost   int64 `json:"cost_nano_usd"`
}

type budgetShape struct {
	Tokens *int64 `json:"tokens"`
	Cost   *int64 `json:"cost_nano_usd"`
}

type leaseShape struct {
	Owner string `json:"owner"`
	Epoch int64  `json:"epoch"`
	Until string `json:"until"`
}

func shapeAgent(a agent.Agent) agentShape {
	out := agentShape{
		UUID: a.ID, Name: optional(a.Name), ParentUUID: optional(a.Parent), Status: string(a.Status),
		EndReason: optional(a.EndReason), CreatedAt: stamp(a.CreatedAt), EndedAt: optional(stamp(a.EndedAt)),
		Depth: a.Depth, OwnMessages: a.Own, TotalMessages: a.Total, UnreadMail: a.Unread, HeadMessageID: a.Head,
		Provider: optional(a.Provider), Model: optional(a.Model), Cwd: optional(a.Cwd),
	}
	out.Spent = spentShape(a.Spent)
	if n, ok := a.Budget.Tokens.Get(); ok {
		out.Budget.Tokens = &n
	}
	if n, ok := a.Budget.Cost.Get(); ok {
		out.Budget.Cost = &n
	}
	if !a.IsZero() {
		out.ForkMessageID = &a.ForkMessage
	}
	if a.Lease.Owner != "" {
		out.Lease = &leaseShape{a.Lease.Owner, a.Lease.Epoch, stamp(a.Lease.Until)}
	}
	return out
}

type entryShape struct {
	ID        id.Message     `json:"id"`
	AgentUUID id.Agent       `json:"agent_uuid"`
	Kind      history.Kind   `json:"kind"`
	Content   string         `json:"content"`
	Parts     []history.Part `json:"parts"`
	Meta      jsonText       `json:"meta"`
	CreatedAt string         `json:"created_at"`
	Hash      string         `json:"hash"`
	InContext bool           `json:"in_context"`
	Redacted  bool           `json:"redacted"`
}

// jsonText is JSON that is stored as it is printed.
type jsonText []byte

func (j jsonText) MarshalJSON() ([]byte, error) { return j, nil }

// shapeEntry decodes an entry and fetches its blobs.
func shapeEntry(e history.Entry, inContext bool, blob func(chain.Hash) ([]byte, error)) (entryShape, error) {
	parts, err := e.Parts()
	if err != nil {
		return entryShape{}, err
	}
	if err := history.Fill(parts, blob); err != nil {
		return entryShape{}, err
	}
	if parts == nil {
		parts = []history.Part{}
	}
	return entryShape{ID: e.ID, AgentUUID: e.Agent, Kind: e.Kind, Content: history.Plain(parts), Parts: parts,
		Meta: e.Meta, CreatedAt: stamp(e.CreatedAt), Hash: e.Hash.String(), InContext: inContext,
		Redacted: e.Content == nil}, nil
}

type letterShape struct {
	ID        int64     `json:"id"`
	Number    int64     `json:"number"`
	FromUUID  *id.Agent `json:"from_uuid"`
	ToUUID    id.Agent  `json:"to_uuid"`
	Body      string    `json:"body"`
	CreatedAt string    `json:"created_at"`
	ReadAt    *string   `json:"read_at"`
	InReplyTo *int64    `json:"in_reply_to"`
}

func shapeLetter(l mail.Letter) letterShape {
	return letterShape{ID: l.ID, Number: l.Number, FromUUID: optional(l.From), ToUUID: l.To, Body: l.Body,
		CreatedAt: stamp(l.CreatedAt), ReadAt: optional(stamp(l.ReadAt)), InReplyTo: optional(l.InReplyTo)}
}

// optional is null for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z")
}

// password finds the password in a database URL.
func password(db string) string {
	u, err := url.Parse(db)
	if err != nil {
		return ""
	}
	if u.User != nil {
		if p, ok := u.User.Password(); ok {
			return p
		}
	}
	return u.Query().Get("password")
}

// exitHelp is the table of exit codes for --help.
func exitHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes: 0 ok")
	last := 0
	for _, row := range fault.Table() {
		if row.Exit != last {
			fmt.Fprintf(&b, "\n%5d  %s", row.Exit, row.Code)
			last = row.Exit
			continue
		}
		fmt.Fprintf(&b, ", %s", row.Code)
	}
	return b.String()
}
