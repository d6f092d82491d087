package process

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/turn/tool"
)

// mostRead limits one answer with several messages; the first is always complete.
const mostRead = 48 << 10

// read reads letters into the result of a call: all are marked, and the result is written,
// in one transaction, or none of it happens.
func (a actor) read(ctx context.Context, c tool.Call, head string, letters []mail.Letter) (tool.Answer, error) {
	names, err := a.titles(ctx, senders(letters)...)
	if err != nil {
		return refuse(ctx, err)
	}
	me, err := a.me(ctx)
	if err != nil {
		return refuse(ctx, err)
	}
	n, size := 0, 0
	for n < len(letters) && (n == 0 || size+len(letters[n].Body) <= mostRead) {
		size += len(letters[n].Body)
		n++
	}
	rest := len(letters) - n
	letters = letters[:n]
	if rest > 0 {
		head = strings.TrimSpace(head + fmt.Sprintf(" %s more unread: read_mail.", count(rest, "mail message")))
	}
	head = strings.TrimSpace(c.Note + "\n" + head)
	order := registry.Read{Owner: a.self, Number: letters[0].Number}
	for _, l := range letters[1:] {
		order.Also = append(order.Also, l.Number)
	}
	answer := tool.Answer{Recorded: true, Text: together(head, letters, names, above(me)), Show: people(letters, names)}
	order.Entries = func(mail.Letter) []history.Draft {
		return []history.Draft{{Kind: history.ToolResult, Parts: []history.Part{
			{Type: history.Result, CallID: c.ID, Name: c.Name, Text: answer.Text, Show: answer.Show}}}}
	}
	if _, _, err := a.kernel.Read(ctx, order); err != nil {
		return refuse(ctx, err)
	}
	return answer, nil
}

// together is letters in their frames. Of several each begins with a line that no letter
// can feign: nobody knew its mark when they were written.
func together(head string, letters []mail.Letter, names map[id.Agent]string, parent id.Agent) string {
	var b strings.Builder
	if head != "" {
		b.WriteString(head + "\n\n")
	}
	if len(letters) == 1 {
		b.WriteString(framed(letters[0], fromWhom(letters[0], names), parent))
		return b.String()
	}
	mark := "=== " + rand.Text()[:6]
	fmt.Fprintf(&b, "%d mail messages; each begins with a line %s.", len(letters), mark)
	for _, l := range letters {
		fmt.Fprintf(&b, "\n\n%s\n%s", mark, framed(l, fromWhom(l, names), parent))
	}
	return b.String()
}

// people is a line about each letter.
func people(letters []mail.Letter, names map[id.Agent]string) string {
	var lines []string
	for _, l := range letters {
		lines = append(lines, fmt.Sprintf("mail %d from %s: %s", l.Number, fromWhom(l, names), text.Line(l.Body, maxPreview)))
	}
	return strings.Join(lines, "\n")
}
