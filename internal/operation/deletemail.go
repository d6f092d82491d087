package operation

import (
	"context"
	"slices"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
)

// DeleteMailInput chooses letters by their numbers.
type DeleteMailInput struct {
	Agent   AgentRef       `json:"agent,omitempty" slash:"-" help:"whose mailbox"`
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
