package runner

import (
	"context"
	"iter"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// driven records a program that does an item: each of its turns is one call in the run's log, with
// what the program was asked, its last words, and what it used; its own calls of models are in the history of
// the agent. Nothing of it is taken from the cache: it has done more than to answer.
func (c *WorkerPool) driven(s *agentAttempt, lane string, m kernel.Model) (kernel.Foreign, error) {
	if s.item.Task.Driver == "" {
		return nil, fault.New(fault.Conflict, "worker %s would be driven by %s, but its recipe doesn't name it", s.item.Worker, m.Ref.Name).
			WithHint("`driver: NAME` of the worker, or `run start --model driver/NAME`, lets another program do items")
	}
	return &drivenItem{c, s, lane, m}, nil
}

// drivenItem is a program whose turns are recorded.
type drivenItem struct {
	pool *WorkerPool
	at   *agentAttempt
	lane string
	kernel.Model
}

// Run implements proc.Foreign.
func (d *drivenItem) Run(ctx context.Context, a agent.Agent, t loop.Turn, talk *loop.Conversation) (out loop.Outcome, err error) {
	if d.at.over.Load() {
		return out, fault.New(fault.Denied, "the item %s is over", d.at.item.ID)
	}
	turn := func(ctx context.Context, _ llm.Request) iter.Seq[llm.Event] {
		return func(yield func(llm.Event) bool) {
			if out, err = d.Foreign.Run(ctx, a, t, talk); !yield(llm.Event{Type: llm.Used, Usage: &out.Usage}) {
				return
			}
			if err != nil {
				yield(llm.Fail(err))
				return
			}
			if yield(llm.Event{Type: llm.Done, Part: &llm.Part{Type: llm.Text, Text: out.Text}}) {
				yield(llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: llm.Stop}})
			}
		}
	}
	o := RecorderOptions{Item: d.at.item, Reporter: d.at.orchestrator, Sequence: &d.at.calls, Lane: d.lane, Agent: string(a.ID), Vendor: d.Ref.Vendor,
		Redact: d.pool.Redact, Now: d.pool.Now, Cost: func() (llm.Money, bool) { return out.Cost, out.Cost > 0 }}
	taped := NewRecorder(llm.Func(turn), o)
	for e := range taped.Stream(ctx, llm.Request{Model: d.Ref.Name, Messages: talk.Messages()}) {
		if e.Type == llm.Failed && err == nil {
			err = e.Err // it is not in the log: it has not happened
		}
	}
	return out, err
}

// mayAsk reports whether a program gets what it asks for: reading always, else what the worker's tools name, all
// if it names none.
func mayAsk(tools []string, spec tool.Spec) bool {
	switch {
	case tools == nil || spec.Access == tool.Reads || slices.Contains(tools, spec.Name):
		return true
	case spec.Name == "edit":
		return slices.Contains(tools, "write")
	}
	return false
}
