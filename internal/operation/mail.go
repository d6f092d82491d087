package operation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/mail"
	"ramet/internal/operation/public"
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
	Run: listMail, Text: writeMailbox,
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

func listMail(ctx context.Context, e *Env, in MailInput) (out Mailbox, err error) {
	a, err := e.Target(ctx, in.Agent)
	if err != nil {
		return out, err
	}
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
	if len(m.letters) == 0 {
		w.Line("no mail for %s", m.owner)
		return
	}
	rows := [][]string{{"N", "STATE", "FROM", "AGE", "TEXT"}}
	for _, l := range m.letters {
		state := "read"
		if l.Unread() {
			state = "unread"
		}
		if !l.DeletedAt.IsZero() {
			state = "deleted"
		}
		rows = append(rows, []string{fmt.Sprint(l.Number), state, m.names[l.From], w.Age(l.CreatedAt), text.Line(l.Body, 60)})
	}
	w.Table(rows)
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
	Run: deleteMail,
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

func deleteMail(ctx context.Context, e *Env, in DeleteMailInput) (LettersDeleted, error) {
	a, err := e.Target(ctx, in.Agent)
	if err != nil {
		return LettersDeleted{}, err
	}
	out := LettersDeleted{Agent: a.ID}
	for _, n := range in.Numbers {
		if !slices.Contains(out.Letters, int64(n)) {
			out.Letters = append(out.Letters, int64(n))
		}
	}
	return out, e.Mail().Hide(ctx, a.ID, out.Letters...)
}
