package session

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/operation/control"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// questions are those of a turn that another kernel runs. They are put to the person here
// too; the first answer, from wherever, counts. Used by one goroutine.
type questions struct {
	workspace *Workspace
	answers   control.Answerer              // of the kernel that asks
	asker     permit.Asker                  // nil: nobody is asked here
	open      map[string]context.CancelFunc // by the id of the question
}

// see puts a question, and takes it away when somebody has answered it.
func (q *questions) see(ctx context.Context, e loop.Event) {
	switch {
	case q.asker == nil:
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
	whole, waits := q.answers.Question(e.Ask)
	if !waits {
		return // it is over
	}
	v, err := q.asker.Ask(asking, whole)
	if err != nil {
		return // nobody answered here
	}
	err = q.answers.Answer(e.Ask, v)
	if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
		q.lost(e.Agent, err)
	}
}

func (q *questions) lost(a id.Agent, err error) {
	q.workspace.Elsewhere.Publish(loop.Event{Type: loop.Note, Agent: a, Text: "the answer did not arrive: " + err.Error()})
}

// remoteAnswers takes answers to another kernel of this machine.
type remoteAnswers struct {
	ctx    context.Context
	client *control.Client
}

func (r remoteAnswers) Answer(ask string, v permit.Verdict) error {
	return r.client.Answer(r.ctx, ask, v)
}

func (r remoteAnswers) Question(ask string) (permit.Question, bool) {
	q, err := r.client.Question(r.ctx, ask)
	return q, err == nil
}

func (q *questions) close() {
	for _, over := range q.open {
		over()
	}
}
