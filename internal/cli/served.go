package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"ramet/internal/control"
	"ramet/internal/fault"
	"ramet/internal/loop"
	"ramet/internal/permit"
	"ramet/internal/text"
)

// serving is the kernel that serves the workspace, to which the turn is handed; nil:
// it runs here. A turn that was asked to run in its own way (--allow, --cwd,
// --no-tools) does too: the server has its own.
func (s *session) serving(ctx context.Context, f execFlags, w *watcher) (*control.Client, error) {
	if len(f.allow) > 0 || f.cwd != "" || f.noTools {
		return nil, nil
	}
	place, err := s.meeting()
	if err != nil {
		return nil, err
	}
	server, err := place.Serving(ctx)
	if err != nil && ctx.Err() == nil {
		w.note(err.Error() + "; the turn runs here instead")
		return nil, nil
	}
	return server, err
}

// asked shows the events of a turn that a server runs. Where the user has a terminal,
// questions of the turn are put there; elsewhere they wait for an answer over HTTP.
func (s *session) asked(ctx context.Context, server *control.Client, w *watcher) func(loop.Event) {
	show := func(e loop.Event) {
		if e.Type != loop.TurnEnded || !fault.Is(e.Err, fault.Leased) { // else it did not begin
			w.show(e)
		}
	}
	if s.Password == nil || !s.ErrTerminal || s.json {
		return show
	}
	var open atomic.Value // the question that waits
	open.Store("")
	reading := false
	return func(e loop.Event) {
		show(e)
		switch e.Type {
		case loop.Asking:
			open.Store(e.Ask)
			io.WriteString(s.Stderr, question)
			if !reading {
				reading = true
				go s.answer(ctx, server, &open, w) // which ends with the input, or the process
			}
		case loop.Answered:
			open.CompareAndSwap(e.Ask, "")
		}
	}
}

const question = "permit it? [y]es, [a]lways, [n]o: "

// answer reads what the user types and answers the question that is open then.
func (s *session) answer(ctx context.Context, server *control.Client, open *atomic.Value, w *watcher) {
	for lines := bufio.NewScanner(s.Stdin); lines.Scan(); {
		ask, _ := open.Load().(string)
		if ask == "" {
			continue // it was answered elsewhere
		}
		choice, ok := parseAnswer(lines.Text())
		if !ok {
			io.WriteString(s.Stderr, question)
			continue
		}
		if err := server.Answer(ctx, ask, permit.Verdict{Choice: choice}); err != nil && !fault.Is(err, fault.Conflict) {
			w.note("the answer did not arrive: " + err.Error())
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
