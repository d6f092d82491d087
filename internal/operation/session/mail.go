package session

import (
	"context"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
)

// Letter is mail to be sent.
type Letter struct {
	From *agent.Agent // nil: the person
	To   agent.Agent
	Body string
}

// Send puts a letter into a mailbox, and wakes the receiver.
func (w Mail) Send(ctx context.Context, l Letter) (mail.Letter, error) {
	if err := mail.CheckBody(l.Body); err != nil {
		return mail.Letter{}, err
	}
	from, err := w.ws.sender(ctx, l.From)
	if err != nil {
		return mail.Letter{}, err
	}
	l.From = from
	about := l.To
	if l.From != nil {
		about = *l.From
	}
	if err := w.ws.Project().fires(ctx, about, kernel.Mailing(registry.Send{From: about.ID, To: l.To.ID, Body: l.Body})); err != nil {
		return mail.Letter{}, err
	}
	w.ws.Turns().Lend(ctx, l.To.ID) // it may wake
	order := registry.Send{Claim: agent.Passing(), To: l.To.ID, Body: l.Body, Most: w.ws.Config.Number("max_unread")}
	if l.From == nil {
		return w.send(ctx, order)
	}
	order.From = l.From.ID
	if err := w.ws.mended(ctx, *l.From); err != nil {
		return mail.Letter{}, err
	}
	var sent mail.Letter
	err = w.ws.retakes(ctx, l.From.ID, func() (err error) {
		sent, err = w.send(ctx, order)
		return err
	})
	return sent, err
}

// send sends it here.
func (w Mail) send(ctx context.Context, s registry.Send) (mail.Letter, error) {
	if w.ws.Kernel != nil {
		return w.ws.Kernel.Send(ctx, s)
	}
	var l mail.Letter
	err := w.ws.insert(ctx, s.From, func(c agent.Claim) (err error) {
		s.Claim = c
		l, err = w.ws.Store.Send(ctx, s)
		return err
	})
	if err != nil {
		return l, err
	}
	w.ws.Peers.Tell(ctx, "", registry.Ring{Agent: s.To, What: registry.RingMail})
	l.Fate, l.Why = w.fate(ctx, s.From, s.To)
	return l, nil
}

// fate delivers a letter that no kernel sent: an agent that works is notified, others
// read it in their next turn.
func (w Mail) fate(ctx context.Context, from, to id.Agent) (mail.Fate, string) {
	a, err := w.ws.Store.Agent(ctx, to)
	if err != nil {
		return "", ""
	}
	above := from == ""
	for up := a.Parent; up != "" && !above; {
		above = up == from
		row, err := w.ws.Store.Agent(ctx, up)
		if err != nil {
			return "", ""
		}
		up = row.Parent
	}
	if !above {
		return "", "" // it would wake nobody in any case
	}
	if _, holds, err := agent.FindHolder(ctx, w.ws.Store, to, w.ws.Peers.Gone); err != nil {
		return "", ""
	} else if holds {
		return mail.Meets, ""
	}
	return mail.Waits, "no server and no terminal runs that could begin a turn; `ramet exec --continue " + a.Label() + "` lets it read, or `ramet serve` before you write"
}

// Read marks a letter as read: the one with this number, or the oldest that waits (0). ok is
// false when no letter waits.
func (w Mail) Read(ctx context.Context, owner agent.Agent, number int64) (mail.Letter, bool, error) {
	if err := w.ws.may(ctx, "read the mail of", owner); err != nil {
		return mail.Letter{}, false, err
	}
	if err := w.ws.mended(ctx, owner); err != nil {
		return mail.Letter{}, false, err
	}
	return w.ws.Store.Read(ctx, registry.Read{Owner: owner.ID, Number: number})
}

// Peek is Read over the owner's shoulder: it marks nothing.
func (w Mail) Peek(ctx context.Context, owner agent.Agent, number int64) (mail.Letter, bool, error) {
	letters, err := w.ws.Store.Letters(ctx, owner.ID, mail.Filter{Unread: number == 0})
	if err != nil {
		return mail.Letter{}, false, err
	}
	for _, l := range letters {
		if number == 0 || l.Number == number {
			return l, true, nil
		}
	}
	if number != 0 {
		return mail.Letter{}, false, fault.New(fault.NotFound, "no mail %d in this mailbox", number).WithHint("`ramet mail` lists them")
	}
	return mail.Letter{}, false, nil
}

// Hide takes letters out of a mailbox: all of them or, if one is unknown, none.
func (w Mail) Hide(ctx context.Context, owner id.Agent, numbers ...int64) error {
	a, err := w.ws.Store.Agent(ctx, owner)
	if err != nil {
		return err
	}
	if err := w.ws.may(ctx, "delete mail of", a); err != nil {
		return err
	}
	letters, err := w.ws.Store.Letters(ctx, owner, mail.Filter{})
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if !slices.ContainsFunc(letters, func(one mail.Letter) bool { return one.Number == n }) {
			return fault.New(fault.NotFound, "%s has no mail %d", a.Label(), n).WithHint("`ramet mail %s` lists them; nothing was deleted", a.Label())
		}
	}
	for _, n := range numbers {
		if err := w.ws.Store.Hide(ctx, owner, n); err != nil {
			return err
		}
	}
	return nil
}
