package agents

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"ramet/internal/cli/line"
	"ramet/internal/fault"
	"ramet/internal/loop"
	"ramet/internal/permit"
	"ramet/internal/text"
)

// asker asks the user of a terminal what a turn asks that a server runs; nil where there is
// no terminal: then questions wait for an answer over HTTP.
func asker(l *line.Line) permit.Asker {
	if l.Password == nil || !l.ErrTerminal || l.JSON {
		return nil
	}
	return &lineAsker{l: l}
}

// lineAsker reads answers line by line. One goroutine reads for all questions, and ends with
// the input, or the process.
type lineAsker struct {
	l     *line.Line
	once  sync.Once
	lines chan string
}

const question = "permit it? [y]es, [a]lways, [n]o: "

// Ask implements permit.Asker.
func (a *lineAsker) Ask(ctx context.Context, _ permit.Question) (permit.Verdict, error) {
	a.once.Do(func() {
		a.lines = make(chan string)
		go func() {
			defer close(a.lines)
			for in := bufio.NewScanner(a.l.Stdin); in.Scan(); {
				a.lines <- in.Text()
			}
		}()
	})
	for {
		io.WriteString(a.l.Stderr, question)
		select {
		case said, ok := <-a.lines:
			if !ok {
				return permit.Verdict{}, fault.New(fault.Cancelled, "nobody answers")
			}
			if choice, ok := parseAnswer(said); ok {
				return permit.Verdict{Choice: choice}, nil
			}
		case <-ctx.Done(): // it was answered elsewhere
			return permit.Verdict{}, ctx.Err()
		}
	}
}

func parseAnswer(said string) (permit.Choice, bool) {
	switch strings.ToLower(strings.TrimSpace(said)) {
	case "y", "yes":
		return permit.Once, true
	case "a", "always":
		return permit.Always, true
	case "n", "no":
		return permit.Refuse, true
	}
	return "", false
}

// askedOf is the line about a question.
func askedOf(e loop.Event) string {
	return fmt.Sprintf("waits for permission: %s (answer on the page, or here if it asks; question %s)", told(e), text.Line(e.Ask, 40))
}
