package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ramet/internal/public"

	"ramet/internal/agent"
	"ramet/internal/control"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/llm"
	"ramet/internal/loop"
	"ramet/internal/mail"
	"ramet/internal/proc"
	"ramet/internal/registry"
	"ramet/internal/text"
)

// PromptInput is what a user says to an agent.
type PromptInput struct {
	Text  string `json:"text"`
	Model string `json:"model,omitempty"` // vendor/name; empty: the agent's own
}

// TurnBegun is a turn that was asked for. What comes of it is told by events.
type TurnBegun struct {
	Agent id.Agent `json:"agent_uuid"`
	Turn  int64    `json:"turn"` // as in events of the kernel that runs it; 0: not known
}

func (a Agents) prompt(c *Call, in PromptInput) (TurnBegun, error) {
	var p proc.Prompt
	if _, err := history.Say(history.User, in.Text); err != nil {
		return TurnBegun{}, pointed("/text", err)
	}
	if p.Text = in.Text; strings.TrimSpace(in.Text) == "" {
		return TurnBegun{}, pointed("/text", fault.New(fault.InvalidText, "the prompt is blank"))
	}
	if in.Model != "" {
		ref, err := llm.ParseRef(in.Model)
		if err != nil {
			return TurnBegun{}, pointed("/model", err)
		}
		p.Model = ref
	}
	found, err := a.find(c)
	if err == nil {
		err = agent.NeedLiving(found)
	}
	if err != nil {
		return TurnBegun{}, err
	}
	out := TurnBegun{Agent: found.ID}
	err = a.Place.Through(c.Context(), a.Store, found.ID, func() (err error) {
		out.Turn, err = a.beginHere(c.Context(), found.ID, p)
		return err
	}, func(other *control.Client) (err error) {
		out.Turn, err = a.beginThere(c.Context(), other, found.ID, p)
		return err
	})
	return out, err
}

// pointed says which field an error is about.
func pointed(pointer string, err error) error {
	e := answerOf(err)
	e.status = http.StatusUnprocessableEntity
	e.Details = append(e.Details, Detail{Pointer: pointer, Message: e.Message})
	return e
}

// beginTime is how long an answer waits to see whether a turn begins here: one that is in
// order begins long before. thereTime is the same elsewhere, where it mostly waits for
// the turn for which the agent is held.
const (
	beginTime = 5 * time.Second
	thereTime = time.Second
)

// beginHere starts a turn in our kernel, which goes on without the client, and waits
// until it has begun: why it could not, the client is told.
func (a Agents) beginHere(ctx context.Context, who id.Agent, p proc.Prompt) (int64, error) {
	patience, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	busy := a.Kernel.Doing(who) != ""
	seen, enough := a.Kernel.Events.Subscribe(patience)
	defer enough()
	turn, err := a.Kernel.Exec(context.WithoutCancel(ctx), who, p)
	if err != nil || busy {
		return turn.ID(), err
	}
	for e := range seen {
		if e.Agent != who || e.Turn != turn.ID() {
			continue
		}
		switch e.Type {
		case loop.TurnStarted:
			return turn.ID(), nil
		case loop.TurnEnded: // it never started
			return turn.ID(), e.Err
		}
	}
	return turn.ID(), nil
}

// beginThere gives a turn to the kernel that holds the agent. What happens is told
// here too.
func (a Agents) beginThere(ctx context.Context, other *control.Client, who id.Agent, p proc.Prompt) (int64, error) {
	began, ended := make(chan int64, 1), make(chan error, 1)
	a.Events.work.Go(func() {
		_, err := other.Hand(a.Events.ctx, who, p, func(e loop.Event) {
			if e.Type == loop.TurnStarted && e.Agent == who {
				select {
				case began <- e.Turn:
				default:
				}
			}
			a.Events.Publish(e)
		})
		ended <- err
	})
	patience := time.NewTimer(thereTime)
	defer patience.Stop()
	select {
	case n := <-began:
		return n, nil
	case err := <-ended:
		return 0, err
	case <-patience.C: // it waits for the turn before
		return 0, nil
	case <-ctx.Done():
		return 0, llm.Ended(ctx)
	}
}

// ForkInput asks for a child.
type ForkInput struct {
	Name   string `json:"name,omitempty"`
	Prompt string `json:"prompt,omitempty"` // what it is to do; empty: it waits
}

func (a Agents) fork(c *Call, in ForkInput) (AgentNow, error) {
	child := registry.Child{ID: id.NewAgent(), Name: in.Name}
	if in.Name != "" {
		if err := agent.CheckName(in.Name); err != nil {
			return AgentNow{}, pointed("/name", err)
		}
	}
	if in.Prompt != "" {
		said, err := history.Say(history.User, in.Prompt)
		if err == nil && strings.TrimSpace(in.Prompt) == "" {
			err = fault.New(fault.InvalidText, "the prompt is blank")
		}
		if err != nil {
			return AgentNow{}, pointed("/prompt", err)
		}
		child.Entries = append(child.Entries, said)
	}
	parent, err := a.find(c)
	if err == nil {
		err = agent.NeedLiving(parent)
	}
	if err != nil {
		return AgentNow{}, err
	}
	f := registry.Fork{Parent: parent.ID, Claim: agent.Passing(), Children: []registry.Child{child}}
	var born []agent.Agent
	err = a.Place.Through(c.Context(), a.Store, parent.ID, func() (err error) {
		born, err = a.Kernel.Fork(c.Context(), f, in.Prompt != "")
		return err
	}, func(other *control.Client) (err error) {
		born, err = other.Fork(c.Context(), f, in.Prompt != "")
		return err
	})
	if err != nil {
		return AgentNow{}, err
	}
	return a.now(born[0], nil), nil
}

// KillInput asks for the end of agents.
type KillInput struct {
	Cascade *bool  `json:"cascade,omitempty"` // everything below too; absent: as configured
	Confirm *int   `json:"confirm,omitempty"` // how many end; it must be right
	Reason  string `json:"reason,omitempty"`
}

// KillPreview is what a kill would do.
type KillPreview struct {
	Count   int  `json:"count"` // of those that would end
	Cascade bool `json:"cascade"`
	Dead    bool `json:"already_dead"`
}

func (a Agents) preview(c *Call, _ None) (KillPreview, error) {
	cascade, err := c.Number("cascade", 0, 1, 1)
	if err != nil {
		return KillPreview{}, err
	}
	found, err := a.find(c)
	if err != nil {
		return KillPreview{}, err
	}
	if err := registry.MayKill(found); err != nil {
		return KillPreview{}, err
	}
	n, err := a.victims(c.Context(), found, cascade == 1)
	return KillPreview{n, cascade == 1, found.Status == agent.Dead}, err
}

// victims counts those that a kill would end now.
func (a Agents) victims(ctx context.Context, root agent.Agent, cascade bool) (int, error) {
	n := 0
	if root.Status == agent.Running {
		n = 1
	}
	if !cascade {
		return n, nil
	}
	all, err := a.Store.Agents(ctx, agent.Filter{Dead: true, Brief: true})
	below := map[id.Agent]bool{root.ID: true}
	for _, one := range all { // in the order of creation: parents come first
		if !below[one.Parent] {
			continue
		}
		below[one.ID] = true
		if one.Status == agent.Running {
			n++
		}
	}
	return n, err
}

func (a Agents) kill(c *Call, in KillInput) (public.Killed, error) {
	var none public.Killed
	setDefault(&in.Reason, "killed")
	if err := text.Check(fault.InvalidText, "the reason", in.Reason, 512); err != nil {
		return none, pointed("/reason", err)
	}
	cascade := a.Cascade
	if in.Cascade != nil {
		cascade = *in.Cascade
	}
	found, err := a.find(c)
	if err != nil {
		return none, err
	}
	if err := registry.MayKill(found); err != nil {
		return none, err
	}
	n, err := a.victims(c.Context(), found, cascade)
	if err != nil {
		return none, err
	}
	if in.Confirm == nil || *in.Confirm != n {
		number := strconv.Itoa(n)
		return none, Refuse(http.StatusConflict, fault.Conflict, "this would end "+number+" agents, and that is not what was confirmed",
			Detail{Pointer: "/confirm", Message: "must be the number of agents that end", Suggestion: number})
	}
	held, err := control.Held(c.Context(), a.Store)
	if err != nil {
		return none, err
	}
	// A client that goes away leaves no half of it behind.
	ctx := context.WithoutCancel(c.Context())
	done, err := a.Kernel.Kill(ctx, registry.Kill{Agent: found.ID, Cascade: cascade, Reason: in.Reason})
	if err != nil {
		return none, err
	}
	rings := control.Deaths(done)
	for _, r := range rings {
		if owner := held[r.Agent]; owner != "" && owner != a.Kernel.Owner {
			if err := a.Place.Bury(ctx, a.Kernel.Owner, held, rings...); err != nil {
				return none, err
			}
			break
		}
	}
	return public.FormatKilled(done), nil
}

// Nothing is a body without fields.
type Nothing struct{}

// Interrupted says whether there was a turn to stop.
type Interrupted struct {
	Agent       id.Agent `json:"agent_uuid"`
	Interrupted bool     `json:"interrupted"`
}

func (a Agents) interrupt(c *Call, _ Nothing) (Interrupted, error) {
	found, err := a.find(c)
	if err != nil {
		return Interrupted{}, err
	}
	out := Interrupted{Agent: found.ID}
	if a.Kernel.Doing(found.ID) != "" {
		out.Interrupted = true
		return out, a.Kernel.Interrupt(c.Context(), found.ID)
	}
	held, err := control.Held(c.Context(), a.Store)
	owner := held[found.ID]
	if err != nil || owner == "" || owner == a.Kernel.Owner || a.Place.Gone(owner) {
		return out, err
	}
	other, err := a.Place.Dial(c.Context(), owner)
	if err != nil {
		return out, err
	}
	out.Interrupted = true
	return out, other.Interrupt(c.Context(), found.ID)
}

// SendInput is a letter of the user.
type SendInput struct {
	Body string `json:"body"`
}

func (a Agents) send(c *Call, in SendInput) (public.Letter, error) {
	if err := mail.CheckBody(in.Body); err != nil {
		return public.Letter{}, pointed("/body", err)
	}
	to, err := a.find(c)
	if err != nil {
		return public.Letter{}, err
	}
	l, err := a.Kernel.Send(c.Context(), registry.Send{To: to.ID, Body: in.Body})
	return public.FormatLetter(l), err
}
