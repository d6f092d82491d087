package run

import (
	fast "github.com/go-json-experiment/json"

	"ramet/internal/base/fault"
)

// Course is what a writer has to know of a log beside its snapshot, so that it
// writes nothing that cannot have happened: which model calls are under way, and
// whether somebody said already how the run ended. The reducer does not ask it: a
// log that was written without such care is read, replayed and verified as it is.
type Course struct {
	calls map[string]bool // id → it is under way
	ended Type            // what said how the run ended; empty: it goes on
}

// NeedsCourse reports whether an event of this type is judged by the course of the run. Who
// appends others need not read the log for it.
func NeedsCourse(t Type) bool {
	switch t {
	case LLMCallFinished, LLMCallFailed, RunCompleted, RunFailed, RunCancelled:
		return true
	}
	return false
}

// Ended is the event that said how the run ended, if one did and the run did not go
// on since.
func (c *Course) Ended() (Type, bool) { return c.ended, c.ended != "" }

// Note takes the next event of the log, whatever it is.
func (c *Course) Note(t Type, payload []byte) {
	switch t {
	case LLMCallStarted:
		if c.calls == nil {
			c.calls = map[string]bool{}
		}
		c.calls[callOf(payload)] = true
	case LLMCallFinished, LLMCallFailed:
		if id := callOf(payload); c.calls[id] {
			c.calls[id] = false
		}
	case RunCompleted, RunFailed, RunCancelled:
		c.ended = t
	case RunReopened, RunForked, ResumeRewind:
		c.ended = ""
	case RunStateChanged:
		if to, ok := stepTo(payload); ok && !to.Terminal() {
			c.ended = ""
		}
	}
}

// Admit refuses an event that cannot follow: the answer to a call that was never made
// or is answered, a second end of the run, a pull request before there is anything to
// propose. state is the run's.
func (c *Course) Admit(state State, t Type, payload []byte) error {
	switch t {
	case LLMCallFinished, LLMCallFailed:
		id := callOf(payload)
		open, made := c.calls[id]
		switch {
		case !made:
			return fault.New(fault.InvalidEvent, "%s ends model call %.80q, which never started", t, id).
				WithHint("append its %s first", LLMCallStarted)
		case !open:
			return fault.New(fault.InvalidEvent, "%s ends model call %.80q a second time", t, id).
				WithHint("a call that is made again gets a new %s", LLMCallStarted)
		}
	case RunCompleted, RunFailed, RunCancelled:
		if c.ended != "" {
			return fault.New(fault.InvalidStateTransition, "%s: the run ended already, with %s", t, c.ended).
				WithHint("a run ends once; a FAILED one can be reopened")
		}
	case PullRequestOpened:
		if state != Validating && state != ReadyForPR && state != PROpened {
			return fault.New(fault.InvalidStateTransition, "%s: the run is %s", t, state).
				WithHint("it must be %s or %s", ReadyForPR, PROpened)
		}
	}
	return nil
}

// EndsRun reports whether a RUN_STATE_CHANGED goes to a state that is terminal.
func EndsRun(t Type, payload []byte) bool {
	to, ok := stepTo(payload)
	return t == RunStateChanged && ok && to.Terminal()
}

func callOf(payload []byte) string {
	var p struct {
		CallID string `json:"call_id"` // of any event of a call
	}
	if fast.Unmarshal(payload, &p) != nil {
		return ""
	}
	return p.CallID
}

func stepTo(payload []byte) (State, bool) {
	var p struct {
		New State `json:"new_state"`
	}
	err := fast.Unmarshal(payload, &p)
	return p.New, err == nil
}
