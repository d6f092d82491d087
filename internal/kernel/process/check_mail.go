package process

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/core/mail"
	"ramet/internal/turn/tool"
)

const (
	maxListed  = 50 // letters of each sort in a list
	maxPreview = 80 // characters
)

var checkMailSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("check_mail", tool.Spec{
		Untold: true,
		Args: shape.Object(
			shape.May("from", shape.Text(0)),
		),
		Summary: summary(func(args fromArgs) string {
			if args.From != "" {
				return "look for mail from " + args.From
			}
			return "look into the mailbox"
		}),
	})
})

type fromArgs struct {
	From string `json:"from"`
}

// checkMail is the tool that lists the mailbox.
type checkMail struct{ actor }

func (checkMail) Spec() tool.Spec { return checkMailSpec() }

// Run implements tool.Tool.
func (m checkMail) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	args, err := decode[fromArgs](c.Args)
	if err != nil {
		return refuse(ctx, err)
	}
	var f mail.Filter
	if f.From, err = m.sender(ctx, args.From); err != nil {
		return refuse(ctx, err)
	}
	letters, err := m.people.Letters(ctx, m.self, f)
	if err != nil {
		return refuse(ctx, err)
	}
	names, err := m.titles(ctx, senders(letters)...)
	if err != nil {
		return refuse(ctx, err)
	}
	return tool.Answer{Text: mailbox(letters, names)}, nil
}

// sender is whom a filter means; nil: anybody.
func (a actor) sender(ctx context.Context, ref string) (*id.Agent, error) {
	switch ref {
	case "":
		return nil, nil
	case theUser, "you":
		return new(id.Agent), nil
	}
	found, err := a.find(ctx, ref)
	return &found.ID, err
}

func senders(letters []mail.Letter) []id.Agent {
	var who []id.Agent
	for _, l := range letters {
		who = append(who, l.From)
	}
	return who
}

// mailbox lists letters that come unread first. Of many it lists the unread that
// are next, and the read that came last.
func mailbox(letters []mail.Letter, names map[id.Agent]string) string {
	cut := slices.IndexFunc(letters, func(l mail.Letter) bool { return !l.Unread() })
	if cut < 0 {
		cut = len(letters)
	}
	unread, read := letters[:cut], letters[cut:]
	if len(letters) == 0 {
		return "No mail."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s unread, %d read.", count(len(unread), "mail message"), len(read))
	line := func(l mail.Letter, state string) {
		fmt.Fprintf(&b, "\n#%d %s, from %s, %s: %s", l.Number, state, names[l.From], stamp(l.CreatedAt), text.Line(l.Body, maxPreview))
	}
	for _, l := range unread[:min(len(unread), maxListed)] {
		line(l, "unread")
	}
	if more := len(unread) - maxListed; more > 0 {
		fmt.Fprintf(&b, "\n… and %d more unread.", more)
	}
	if more := len(read) - maxListed; more > 0 {
		fmt.Fprintf(&b, "\n… %d older that were read.", more)
	}
	for _, l := range read[max(0, len(read)-maxListed):] {
		line(l, "read")
	}
	return b.String()
}
