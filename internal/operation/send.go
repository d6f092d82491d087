package operation

import (
	"context"

	"ramet/internal/base/printer"
	"ramet/internal/core/mail"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// SendInput is a letter.
type SendInput struct {
	To   AgentRef `json:"to" arg:"TO" help:"the recipient: 0, a name, a uuid or the beginning of one"`
	Text Text     `json:"text" arg:"TEXT" alias:"body" help:"what you write"`
	From AgentRef `json:"from,omitempty" default:"you" help:"the sender"`
}

// Check implements Checker.
func (in *SendInput) Check() error { return At("text", mail.CheckBody(string(in.Text))) }

// You names the person where a sender is named.
const You = "you"

// Send puts a letter into a mailbox.
var Send = Op[SendInput, Sent]{
	Doc: Doc{Name: "send", Group: "mail", ID: "sendLetter", Route: "POST /api/v1/agents/{ref=to}/send 201", Faces: CLI | HTTP | MCP | Slash, Tool: "send",
		Summary: "Send mail to an agent",
		Model:   "Send an agent mail, from you. Mail from a person or an ancestor starts a turn of an idle agent if a server runs; the answer says how it is delivered.",
		Help: `Send mail to an agent, from you or, with {from}, from another agent. Mail from you or from an
ancestor starts a turn of an idle agent if its kernel is running (see the setting wake). Otherwise it
waits in the mailbox, and the command says for what. A working agent is notified before its turn
ends. {text} - reads standard input.`},
	Run:    send,
	Public: func(_ Face, out Sent) any { return out.Letter },
	Text: func(w *printer.Writer, _ SendInput, out Sent) {
		w.Line("Sent mail %d to %s", out.Letter.Number, out.To)
		switch mail.Fate(out.Letter.Fate) {
		case mail.Wakes:
			w.Line("it wakes %s", out.To)
		case mail.Meets:
			w.Line("%s is working, and is notified before its turn ends", out.To)
		case mail.Waits:
			w.Line("it waits: %s", out.Letter.Why)
		}
	},
}

// Sent is a letter that was sent.
type Sent struct {
	Letter public.Letter
	To     string // label of the receiver
}

func send(ctx context.Context, e *Env, in SendInput) (Sent, error) {
	to, err := e.Find(ctx, string(in.To))
	if err != nil {
		return Sent{}, err
	}
	letter := session.Letter{To: to, Body: string(in.Text)}
	if in.From != You && in.From != "" {
		from, err := e.Find(ctx, string(in.From))
		if err != nil {
			return Sent{}, err
		}
		letter.From = &from
	}
	sent, err := e.Mail().Send(ctx, letter)
	return Sent{public.FormatLetter(sent), to.Label()}, err
}
