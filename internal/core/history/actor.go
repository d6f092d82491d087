package history

import (
	"bytes"
	"context"
	"sync"
	"time"

	"ramet/internal/base/text"
)

// Actor is a person who did something, and from where. Every entry that a person
// caused has one; what models and ramet itself do has none.
type Actor struct {
	Who  string `json:"who"`  // the user of the operating system, or who holds the token
	Face Face   `json:"face"` // where it was done
}

// Face names the place where a person meets ramet.
type Face string

// The faces.
const (
	CLI      Face = "cli"
	Terminal Face = "terminal"
	Page     Face = "page"
	HTTP     Face = "http"
	MCP      Face = "mcp" // a program of theirs, over the model context protocol
	ACP      Face = "acp" // their editor, over the agent client protocol
)

func (a Actor) String() string {
	if a.Who == "" {
		return string(a.Face)
	}
	return a.Who + " (" + string(a.Face) + ")"
}

type actorKey struct{}

// By returns a context for what a person does: stores put the actor into each entry
// that is written with it. It is set where a person's wish comes in, and ends where a
// model's work begins (Unattended).
func By(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, func() *Actor { return &a })
}

// ByWhom does what By does for a person whose name is looked up when something is first written: most commands write nothing.
func ByWhom(ctx context.Context, who func() Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, sync.OnceValue(func() *Actor {
		a := who()
		return &a
	}))
}

// Unattended returns a context for what no person does.
func Unattended(ctx context.Context) context.Context {
	return context.WithValue(ctx, actorKey{}, func() *Actor { return nil })
}

// ActorOf returns the person of ctx; nil if there is none.
func ActorOf(ctx context.Context) *Actor {
	if who, ok := ctx.Value(actorKey{}).(func() *Actor); ok {
		return who()
	}
	return nil
}

// Sign puts the person of ctx into a draft that says nothing about it yet.
func Sign(ctx context.Context, d Draft) Draft {
	if d.Meta.Actor == nil {
		d.Meta.Actor = ActorOf(ctx)
	}
	return d
}

// The commands of entries about permission.
const (
	AskCommand    = "ask"    // a person is asked about a call, which has not begun: CallID
	PermitCommand = "permit" // a person permitted a call: CallID, Permission, Actor
	ModeCommand   = "mode"   // a person chose how calls are permitted: Mode, Actor
)

// Permission describes who let a call run or did not, when, and why. It is in the meta of
// the call's result; a person's yes is in an entry of its own before the call runs,
// so that it is not lost with the process.
type Permission struct {
	Answer   string `json:"answer"`             // allowed or refused
	By       string `json:"by"`                 // person, rule, mode, hook, or nobody: nobody could be asked
	Choice   string `json:"choice,omitempty"`   // of a person: once, agent, project, no
	Actor    *Actor `json:"actor,omitempty"`    // the person; by a rule: who granted it, if that is known
	Rule     string `json:"rule,omitempty"`     // by which it was permitted, or that was granted
	From     string `json:"from,omitempty"`     // where the rule stands: settings, project, or the agent it was granted to
	Mode     string `json:"mode,omitempty"`     // of the agent
	Confined bool   `json:"confined,omitempty"` // it ran inside the box
	Foreign  bool   `json:"foreign,omitempty"`  // of a person: the agent had taken in foreign content, and the question said so
	At       string `json:"at"`                 // RFC 3339, UTC
}

// The answers, and who gave them.
const (
	Allowed = "allowed"
	Refused = "refused"

	ByPerson = "person"
	ByRule   = "rule"
	ByMode   = "mode"
	ByNobody = "nobody"
	ByHook   = "hook" // From: where it stands
)

// permitForm sets how moments are in meta.
const permitForm = "2006-01-02T15:04:05.000Z"

// Moment returns a time as meta has it.
func Moment(t time.Time) string { return t.UTC().Format(permitForm) }

// String returns one line for people: every face shows the same.
func (p Permission) String() string {
	out := p.Answer
	switch p.By {
	case ByPerson:
		who := "a person"
		if p.Actor != nil {
			who = p.Actor.String()
		}
		out += " by " + who
		if words := map[string]string{"once": "once", "agent": "for this agent and its children", "project": "for this project"}[p.Choice]; words != "" {
			out += ", " + words
		}
		if p.Rule != "" {
			out += ": " + p.Rule
		}
	case ByRule:
		out += " by rule " + p.Rule
		switch {
		case p.Actor != nil:
			out += ", granted by " + p.Actor.String()
		case p.From != "":
			out += " (" + p.From + ")"
		}
	case ByMode:
		out += " by mode " + p.Mode
	case ByHook:
		out += " by a hook (" + p.From + ")"
	default:
		out += ": no person was there to ask"
	}
	if p.Confined {
		out += ", in the box"
	}
	if p.At != "" {
		out += ", " + p.At
	}
	return out
}

// Permitted returns who let the call run whose result this is, or not, for people; empty: no person had to.
func (e Entry) Permitted() string {
	if !bytes.Contains(e.Meta, []byte(`"permission"`)) {
		return "" // as of most: nothing has to be decoded
	}
	m, err := e.Decode()
	if err != nil || m.Permission == nil {
		return ""
	}
	return text.Safe(m.Permission.String())
}
