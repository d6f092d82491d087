// Package loop is one turn of an agent, as a function over ports:
//
//	context → provider → tools → entries → context → …
//
// until the model stops calling tools. It knows no store, no process and no
// screen. Same context, same model, same tools: same entries.
//
// # Promises
//
//   - Persist, then show: an entry is durable (Journal.Append has returned) before
//     an event tells of it. Only deltas of a running reply come earlier, and what
//     was shown of one is handed to Journal.Streaming, so that a crash keeps it.
//   - A reply that did not end is never an answer: none of its calls run, and what
//     was shown of it becomes an interrupted entry.
//   - Every call gets a result, in the order of the calls, whatever happens: also
//     when it is refused, denied, unknown, malformed or cancelled.
//   - Whatever the history is, the request is one that providers accept: see
//     Conversation.
//   - Limits end a turn with a fault that says which: BUDGET_EXCEEDED,
//     LOOP_DETECTED.
package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// Run carries out one turn: it answers what waits in the conversation, which is
// the whole context of the agent, the prompt included. It returns when the model
// calls no more tools, when a limit is reached, or when something fails; then the
// history is acceptable all the same, unless it could not be written.
//
// When ctx ends, the history gets an interrupted entry, and the fault has the code
// of the cause. Nothing that the turn started runs on when Run returns.
func Run(ctx context.Context, t Turn, c *Conversation) (Outcome, error) {
	r := newTurn(t, c)
	if err := c.Answerable(); err != nil {
		return Outcome{}, err
	}
	err := r.steps(ctx)
	r.lastState(ctx, err)
	if err != nil && ctx.Err() != nil && !LostAgent(err) && !isStorageFault(err) {
		err = r.close(ctx)
	}
	return r.out, err
}

// Answerable refuses a conversation in which nothing waits for an answer: CONFLICT.
func (c *Conversation) Answerable() error {
	if c.State() == Open {
		return nil
	}
	return fault.New(fault.Conflict, "there is nothing to answer: the model said the last word").
		WithHint("say something first")
}

// Remember lets tools know what is in a conversation, and is what is left and open of them.
func Remember(box tool.Box, c *Conversation) tool.Box {
	for _, one := range box {
		if m, ok := one.(tool.Memory); ok {
			m.Recall(c.memos())
		}
	}
	return box.Open()
}

func newTurn(t Turn, c *Conversation) *turn {
	t.Limits.Steps = cmp.Or(t.Limits.Steps, 500)
	t.Limits.Repeats = cmp.Or(t.Limits.Repeats, 3)
	t.Limits.Again = cmp.Or(t.Limits.Again, 500*time.Millisecond)
	t.Limits.Fill = cmp.Or(t.Limits.Fill, 80)
	if t.Clean == nil {
		t.Clean = func(s string) string { return s }
	}
	out := &turn{Turn: t, c: c}
	out.tell(Remember(t.Tools, c))
	for _, m := range t.System {
		out.fixed += sizeOf(m)
	}
	for i := c.Len() - 1; i >= 0 && out.task == 0; i-- {
		if it := c.at(i); isPrompt(it.kind) {
			out.task = it.id
		}
	}
	return out
}

func (r *turn) steps(ctx context.Context) error {
	// What an earlier turn left open is closed before anything new is said.
	if open := r.c.Unanswered(); len(open) > 0 {
		if err := r.write(ctx, Unknown(open, nil)...); err != nil {
			return err
		}
	}
	for {
		if ctx.Err() != nil {
			return ContextFault(ctx)
		}
		if r.out.Steps >= r.Limits.Steps && !r.Limits.Attended && !r.bound {
			return r.stop(ctx, fault.New(fault.BudgetExceeded, "the turn has used the %d steps that it may take while no person is there", r.Limits.Steps).
				WithHint("say continue; `ramet config set steps N` allows more, and with a budget (--max-cost, --max-tokens) only that counts"))
		}
		more, err := r.step(ctx)
		if err == nil && !more {
			more, err = r.goesOn(ctx)
		}
		if err == nil && !more && !r.out.Ended {
			more, err = r.fits(ctx)
		}
		if err != nil || !more {
			return err
		}
		if name, again := r.repeats.worst(); again >= r.Limits.Repeats {
			return r.stop(ctx, fault.New(fault.LoopDetected, "the model made the same call of %s in %d answers, and it failed each time", name, again).
				WithHint("tell it what to do instead"))
		}
	}
}

// Unknown drafts results for calls that can no longer be answered: of an answer whose calls were
// carried out one after another until the process ended. The first of them may have happened, the
// others had not begun, nor had one that waits is true of: it was being asked for.
func Unknown(calls []llm.Part, waits func(llm.Part) bool) []history.Draft {
	out := make([]history.Draft, len(calls))
	for i, call := range calls {
		said := notBegun
		switch {
		case i > 0:
		case waits != nil && waits(call):
			said = notPermitted
		default:
			said = unknownOutcome
		}
		out[i] = draftResult(call, tool.Failed(said))
	}
	return out
}

// equalSuccesses is after how many equal results of the same call in a row the model is told.
const equalSuccesses = 10

// repeats notices a model that goes in circles: answer after answer with the same calls. What
// counts are answers; calls that one answer makes twice count once.
type repeats struct {
	calls   string // those of the last answer
	streaks map[string]*streak
}

// streak counts how a call ended in the answers before, which all made the same calls.
type streak struct {
	tool   string
	failed int // times in a row
	same   int // times in a row with the same result
	result string
	seen   bool // in this answer
}

func keyOf(call llm.Part) string {
	args := call.Args
	if same, err := chain.Canonical(call.Args); err == nil {
		args = same
	}
	return call.Name + "\x00" + string(args) + "\x00" + call.Malformed
}

// begin takes the calls of an answer. Other ones than those before begin anew.
func (r *repeats) begin(calls []llm.Part) {
	keys := make([]string, len(calls))
	for i, c := range calls {
		keys[i] = keyOf(c)
	}
	slices.Sort(keys)
	all := strings.Join(slices.Compact(keys), "\x01")
	if all != r.calls || r.streaks == nil {
		*r = repeats{calls: all, streaks: map[string]*streak{}}
	}
	for _, s := range r.streaks {
		s.seen = false
	}
}

// note takes how a call ended, and gives what the model should be told; empty: nothing. So
// many failures end the turn.
func (r *repeats) note(call llm.Part, result string, failed bool, most int) string {
	key := keyOf(call)
	s := r.streaks[key]
	if s == nil {
		s = &streak{tool: importedName(call.Name)}
		r.streaks[key] = s
	}
	switch {
	case s.seen:
		return ""
	case failed:
		s.failed, s.same, s.seen = s.failed+1, 0, true
		if s.failed == most-1 {
			return fmt.Sprintf("[ramet] The same call failed %d times in a row. Once more ends your turn: change it, or go another way.", s.failed)
		}
		return ""
	}
	if s.failed, s.seen = 0, true; result != s.result {
		s.same, s.result = 0, result
	}
	if s.same++; s.same == equalSuccesses {
		return fmt.Sprintf("[ramet] You have made this call %d times in a row, with the same result each time.", equalSuccesses)
	}
	return ""
}

// worst returns the call that failed most often in a row.
func (r *repeats) worst() (tool string, times int) {
	for _, s := range r.streaks {
		if s.failed > times {
			tool, times = s.tool, s.failed
		}
	}
	return tool, times
}
