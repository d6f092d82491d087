package operation

import (
	"context"
	"fmt"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/operation/public"
)

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
	Run: readLetter,
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

func readLetter(ctx context.Context, e *Env, in ReadInput) (LetterRead, error) {
	a, err := e.Target(ctx, in.Agent)
	if err != nil {
		return LetterRead{}, err
	}
	read := e.Workspace.Mail().Read
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
