package session

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// Answerer holds the questions of a kernel's agents (loop.Asking).
type Answerer interface {
	// Answer answers a question. NOT_FOUND: there is none of that id. CONFLICT: it was answered.
	Answer(ask string, v permit.Verdict) error
	// Question returns a question that waits.
	Question(ask string) (permit.Question, bool)
}

// questions puts the questions of turns to an asker too; the first answer, from wherever, counts. It is used by one
// goroutine.
type questions struct {
	workspace *Workspace
	asker     permit.Asker
	open      map[string]context.CancelFunc // by the id of the question
}

// see puts a question, and takes it away when somebody has answered it.
func (q *questions) see(ctx context.Context, e loop.Event) {
	switch {
	case e.Type == loop.Asking && e.Ask != "":
		asking, over := context.WithCancel(ctx)
		q.open[e.Ask] = over
		go q.put(asking, e)
	case e.Type == loop.Answered:
		if over, ok := q.open[e.Ask]; ok {
			over()
			delete(q.open, e.Ask)
		}
	}
}

// put asks, and tells the kernel what was answered; somebody else may have been faster.
func (q *questions) put(asking context.Context, e loop.Event) {
	whole, waits := q.workspace.Answers.Question(e.Ask)
	if !waits {
		return // it is over
	}
	v, err := q.asker.Ask(asking, whole)
	if err != nil {
		return // nobody answered here
	}
	err = q.workspace.Answers.Answer(e.Ask, v)
	if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
		q.workspace.Kernel.Events.Publish(loop.Event{Type: loop.Note, Agent: e.Agent, Text: "the answer did not arrive: " + err.Error()})
	}
}

func (q *questions) close() {
	for _, over := range q.open {
		over()
	}
}
