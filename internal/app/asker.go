package app

import (
	"context"
	"sync"

	"ramet/internal/core/history"
	"ramet/internal/face/tui"
	"ramet/internal/turn/permit"
)

// asker asks the user of the terminal about calls.
type asker struct{ questions chan tui.Question }

func newAsker() *asker { return &asker{make(chan tui.Question)} }

// answeredHere is an answer that was given at this terminal.
func answeredHere(v permit.Verdict) permit.Verdict {
	v.By = history.Actor{Who: self(), Face: history.Terminal}
	return v
}

// Ask waits for the answer, or until the turn that asks is over.
func (a *asker) Ask(ctx context.Context, q permit.Question) (permit.Verdict, error) {
	answer := make(chan permit.Verdict, 1)
	over := make(chan struct{})
	defer close(over)
	var once sync.Once
	asked := tui.Question{Question: q, Over: over, Answer: func(v permit.Verdict) { once.Do(func() { answer <- v }) }}
	select {
	case a.questions <- asked:
	case <-ctx.Done():
		return permit.Verdict{}, ctx.Err()
	}
	select {
	case v := <-answer:
		return answeredHere(v), nil
	case <-ctx.Done():
		return permit.Verdict{}, ctx.Err()
	}
}
