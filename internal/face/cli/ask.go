package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/turn/permit"
)

// asker asks the user of a terminal what a turn asks that a server runs; nil where there is
// no terminal: then questions wait for an answer over HTTP.
func asker(l *Line) permit.Asker {
	if l.Password == nil || !l.ErrTerminal || l.JSON {
		return nil
	}
	return &lineAsker{l: l}
}

// lineAsker reads answers line by line. One goroutine reads for all questions, and ends with
// the input, or the process.
type lineAsker struct {
	l     *Line
	once  sync.Once
	lines chan string
}

const question = "permit it? once, agent (and its children), project [RULE], no, or: no because …: "

func (a *lineAsker) Ask(ctx context.Context, q permit.Question) (permit.Verdict, error) {
	a.once.Do(func() {
		a.lines = make(chan string)
		go func() {
			defer close(a.lines)
			for in := bufio.NewScanner(a.l.Stdin); in.Scan(); {
				a.lines <- in.Text()
			}
		}()
	})
	a.explain(q)
	asking := question
	if q.Says != "" {
		asking = "answer with a number, in your words, or no: "
	}
	for {
		io.WriteString(a.l.Stderr, asking)
		select {
		case said, ok := <-a.lines:
			if !ok {
				return permit.Verdict{}, fault.New(fault.Cancelled, "no answer")
			}
			v, ok := parseAnswer(said)
			if q.Says != "" {
				v, ok = parseWords(q, said)
			}
			if !ok {
				a.l.Note(noAnswer(said, q.Says != ""))
				continue
			}
			if err := q.Check(v); err != nil {
				a.l.Note(err.Error())
				continue
			}
			v.By = history.Actor{Who: a.l.User(), Face: history.CLI}
			return v, nil
		case <-ctx.Done(): // it was answered elsewhere
			return permit.Verdict{}, ctx.Err()
		}
	}
}

// explain shows what would run, what answers would grant, and what cannot be.
func (a *lineAsker) explain(q permit.Question) {
	for _, said := range []string{q.Says, q.Subject, q.Reason, q.Why} {
		if said != "" && said != q.Summary {
			fmt.Fprintf(a.l.Stderr, "  %s\n", text.Line(said, 4000))
		}
	}
	for _, o := range q.Options() {
		if _, proposed := q.Chosen(o.Choice); proposed {
			fmt.Fprintf(a.l.Stderr, "  %s: %s\n", o.Choice, text.Line(o.Text, 400))
		} else if o.Rule+o.No != "" {
			fmt.Fprintf(a.l.Stderr, "  %s: %s\n", o.Choice, text.Line(strings.TrimSpace(o.Rule+" "+o.No), 400))
		}
	}
}

// parseWords reads an answer to a question of the model's own.
func parseWords(q permit.Question, said string) (permit.Verdict, bool) {
	said = strings.TrimSpace(said)
	if _, ok := q.Chosen(permit.Choice(said)); ok {
		return permit.Verdict{Choice: permit.Choice(said)}, true
	}
	if strings.EqualFold(said, "no") {
		return permit.Verdict{Choice: permit.Refuse}, true
	}
	return permit.Verdict{Choice: permit.Because, Words: said}, said != ""
}

// noAnswer asks a person who typed something else for a valid answer: Enter alone decides nothing.
func noAnswer(said string, words bool) string {
	said = strings.ToLower(strings.TrimSpace(said))
	near := text.NearestWord(said, []string{"once", "agent", "project", "no"})
	switch {
	case words:
		return "Enter alone is not an answer"
	case said == "":
		return "Enter alone decides nothing: type once, and Enter, to permit this one call; no refuses it"
	case said == "y" || said == "yes" || said == "ok":
		near = "once"
	case said == "n":
		near = "no"
	}
	out := fmt.Sprintf("%.40q is not an answer", said)
	if near != "" {
		out += fmt.Sprintf("; did you mean %s?", near)
	}
	return out
}

// parseAnswer reads whole words: no letter that begins another line is an answer.
func parseAnswer(said string) (permit.Verdict, bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(said), " ")
	rest = strings.TrimSpace(rest)
	switch word = strings.ToLower(strings.TrimRight(word, ",")); {
	case word == "once" && rest == "":
		return permit.Verdict{Choice: permit.Once}, true
	case word == "agent" && rest == "":
		return permit.Verdict{Choice: permit.ForAgent}, true
	case word == "project":
		return permit.Verdict{Choice: permit.ForProject, Rule: rest}, true
	case word == "no" && rest == "":
		return permit.Verdict{Choice: permit.Refuse}, true
	case word == "no" && strings.HasPrefix(strings.ToLower(rest), "because "):
		return permit.Verdict{Choice: permit.Because, Words: strings.TrimSpace(rest[len("because "):])}, true
	}
	return permit.Verdict{}, false
}
