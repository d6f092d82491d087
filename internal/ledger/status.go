package ledger

import (
	"slices"
	"strings"

	"ramet/internal/base/fault"
)

// Status is where an entry stands. Other tools may write others than these; they
// are kept, and nothing is done to them.
type Status string

const (
	Spawned     Status = "spawned"     // started, under way
	Completed   Status = "completed"   // ended well
	Interrupted Status = "interrupted" // stopped in the middle
	Resumed     Status = "resumed"     // was interrupted, and another entry goes on
	Failed      Status = "failed"      // ended in an error
	Timeout     Status = "timeout"     // used up its time
)

var known = []Status{Spawned, Completed, Interrupted, Resumed, Failed, Timeout}

// Statuses are all that ramet knows.
func Statuses() []Status { return slices.Clone(known) }

// Next lists where a status may go; nowhere for one that is final or unknown.
func (s Status) Next() []Status {
	switch s {
	case Spawned:
		return []Status{Completed, Failed, Timeout, Interrupted}
	case Interrupted:
		return []Status{Resumed, Failed}
	}
	return nil
}

// Known reports whether it is one of ours.
func (s Status) Known() bool { return slices.Contains(known, s) }

// Live says that something can still happen to the entry.
func (s Status) Live() bool { return len(s.Next()) > 0 }

// Finished says that the work has ended, well or not.
func (s Status) Finished() bool { return s == Completed || s == Failed || s == Timeout }

// illegalStep is the refusal of a step.
func illegalStep(e Entry, to Status) *fault.Error {
	f := fault.New(fault.IllegalTransition, "%s is %s and does not become %s", e.ID, e.Status, to)
	switch next := e.Status.Next(); {
	case len(next) > 0:
		words := make([]string, len(next))
		for i, s := range next {
			words[i] = string(s)
		}
		return f.WithHint("legal from %s: %s", e.Status, strings.Join(words, ", "))
	case e.Status == Resumed && e.ResumedBy != "":
		return f.WithHint("%s goes on for it; legal from %s: nothing", e.ResumedBy, e.Status)
	case e.Status.Known():
		return f.WithHint("%s is final; legal from it: nothing", e.Status)
	}
	return f.WithHint("ramet does not know this status; legal from it: nothing")
}
