package operation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// MailInput chooses letters of a mailbox.
type MailInput struct {
	Agent   AgentRef `json:"agent,omitempty" arg:"AGENT" slash:"-" help:"the agent: 0, a name, a uuid or the beginning of one (default: yourself if you are an agent, else 0)"`
	Unread  bool     `json:"unread,omitempty" help:"only unread mail"`
	From    AgentRef `json:"from,omitempty" help:"only from this agent, or from you"`
	Match   string   `json:"match,omitempty" help:"only mail that contains these words"`
	Deleted bool     `json:"deleted,omitempty" help:"include deleted mail"`
	Limit   *int64   `json:"limit,omitempty" default:"http=200" range:"1..1000" help:"limit, 1 to 1000 (default: all; over HTTP 200)"`
}

// Mail lists a mailbox.
var Mail = Op[MailInput, Mailbox]{
	Doc: Doc{Name: "mail", Slash: "check-mail", Group: "mail", ID: "listMail", Route: "GET /api/v1/agents/{ref=agent}/mail 200", Faces: CLI | HTTP | MCP | Slash, Effect: Reads,
		Summary: "List an agent's mailbox, unread first; marks nothing",
		Model:   "List a mailbox, unread mail first; marks nothing.",
		Help: `List an agent's mail (default: agent 0), unread first. {unread}, {from} and {match} filter the
list. Nothing is marked as read.`},
	On: listMail, Text: writeMailbox,
	Public: func(f Face, out Mailbox) any {
		list := make([]public.Letter, len(out.letters))
		for i, l := range out.letters {
			list[i] = public.FormatLetter(l)
		}
		if f == HTTP {
			return LetterList{list, out.more}
		}
		return FoundLetters{list, out.more}
	},
}

// LetterList is letters, unread first.
type LetterList struct {
	Letters []public.Letter `json:"letters"`
	More    int             `json:"more"` // letters that were left out
}

// FoundLetters is a LetterList that usually has them all.
type FoundLetters struct {
	Letters []public.Letter `json:"letters"`
	More    int             `json:"more,omitempty"`
}

// Mailbox holds the letters that were found in a mailbox.
type Mailbox struct {
	owner   string
	letters []mail.Letter
	names   map[id.Agent]string // of senders
	more    int
}

func listMail(ctx context.Context, e *Env, a agent.Agent, in MailInput) (out Mailbox, err error) {
	out.owner, out.names = a.Label(), map[id.Agent]string{}
	filter := mail.Filter{Unread: in.Unread, Deleted: in.Deleted}
	if in.From != "" {
		filter.From = new(id.Agent)
	}
	if in.From != "" && in.From != You {
		from, err := e.Find(ctx, string(in.From))
		if err != nil {
			return out, At("from", err)
		}
		filter.From = &from.ID
	}
	if out.letters, err = e.Store.Letters(ctx, a.ID, filter); err != nil {
		return out, err
	}
	match := strings.ToLower(in.Match)
	out.letters = slices.DeleteFunc(out.letters, func(l mail.Letter) bool { return !strings.Contains(strings.ToLower(l.Body), match) })
	if in.Limit != nil {
		out.more = max(0, len(out.letters)-int(*in.Limit))
		out.letters = out.letters[:len(out.letters)-out.more]
	}
	for _, l := range out.letters {
		if _, known := out.names[l.From]; !known {
			if out.names[l.From], err = e.nameSender(ctx, l.From); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

func writeMailbox(w *printer.Writer, _ MailInput, m Mailbox) {
	writeTable(w, fmt.Sprintf("no mail for %s", m.owner), []string{"N", "STATE", "FROM", "AGE", "TEXT"}, m.letters, func(l mail.Letter) []string {
		state := "read"
		if l.Unread() {
			state = "unread"
		}
		if !l.DeletedAt.IsZero() {
			state = "deleted"
		}
		return []string{fmt.Sprint(l.Number), state, m.names[l.From], w.Age(l.CreatedAt), text.Line(l.Body, 60)}
	})
	if m.more > 0 {
		w.Line("%d more", m.more)
	}
}

// DeleteMailInput chooses letters by their numbers.
type DeleteMailInput struct {
	Agent   AgentRef       `json:"agent,omitempty" slash:"-" help:"the agent"`
	Numbers []LetterNumber `json:"numbers" slash:"N" help:"numbers of the mail"`
}

// DeleteMail takes letters out of the lists: all that are named or, if one is unknown, none. On the
// command line it is "mail --delete".
var DeleteMail = Op[DeleteMailInput, LettersDeleted]{
	Doc: Doc{Name: "delete-mail", Group: "mail", Faces: Slash, Summary: "Hide mail N"},
	On:  deleteMail,
	Text: func(w *printer.Writer, _ DeleteMailInput, out LettersDeleted) {
		for _, n := range out.Letters {
			w.Line("Deleted mail %d", n)
		}
	},
}

// LettersDeleted lists letters that were deleted.
type LettersDeleted struct {
	Agent   id.Agent `json:"agent_uuid"`
	Letters []int64  `json:"deleted"`
}

func deleteMail(ctx context.Context, e *Env, a agent.Agent, in DeleteMailInput) (LettersDeleted, error) {
	out := LettersDeleted{Agent: a.ID}
	for _, n := range in.Numbers {
		if !slices.Contains(out.Letters, int64(n)) {
			out.Letters = append(out.Letters, int64(n))
		}
	}
	return out, e.Mail().Hide(ctx, a.ID, out.Letters...)
}

// ReadInput chooses a letter.
type ReadInput struct {
	Agent  AgentRef     `json:"agent,omitempty" arg:"AGENT!" slash:"-" help:"the agent: 0, a name, a uuid or the beginning of one (default: yourself if you are an agent, else 0)"`
	Number LetterNumber `json:"number,omitempty" arg:"N" help:"number of the mail (default: the oldest unread)"`
	Peek   bool         `json:"peek,omitempty" help:"leave it unread"`
}

// Read reads a letter.
var Read = Op[ReadInput, LetterRead]{
	Doc: Doc{Name: "read", Slash: "read-mail", Group: "mail", Faces: CLI | MCP | Slash,
		Summary: "Read mail: number N, or the oldest unread",
		Model:   "Read mail and mark it as read: this number, or the oldest unread.",
		Help: `Read mail of an agent and mark it as read: message N, or the oldest unread one. With {peek} it
stays unread.`},
	On: readLetter,
	Text: func(w *printer.Writer, _ ReadInput, out LetterRead) {
		if out.Letter == nil {
			w.Line("no unread mail for %s", out.owner)
			return
		}
		w.Line("%v", w.Dim(fmt.Sprintf("mail %d from %s, %s", out.Letter.Number, out.from, out.Letter.CreatedAt)))
		w.Block("", out.Letter.Body)
	},
}

// LetterRead is a letter that was read.
type LetterRead struct {
	Letter      *public.Letter `json:"letter"` // null: none is unread
	owner, from string
}

func readLetter(ctx context.Context, e *Env, a agent.Agent, in ReadInput) (LetterRead, error) {
	read := e.Mail().Read
	if in.Peek {
		read = e.Mail().Peek
	}
	letter, found, err := read(ctx, a, int64(in.Number))
	out := LetterRead{owner: a.Label()}
	if err != nil || !found {
		return out, err
	}
	shape := public.FormatLetter(letter)
	out.Letter = &shape
	out.from, err = e.nameSender(ctx, letter.From)
	return out, err
}

// nameSender returns what the sender of a letter is called.
func (e *Env) nameSender(ctx context.Context, from id.Agent) (string, error) {
	switch from {
	case "":
		return You, nil
	case id.Kernel:
		return "the kernel", nil
	}
	sender, err := e.Store.Agent(ctx, from)
	return sender.Label(), err
}

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
