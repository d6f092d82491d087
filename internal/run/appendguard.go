package run

import (
	fast "github.com/go-json-experiment/json"

	"ramet/internal/base/fault"
)

// AppendGuard refuses events that cannot follow the log: it knows the open model calls, and the event that ended
// the run. Only writers use it. The reducer does not: a log that was written without such checks is read, replayed
// and verified as it is.
type AppendGuard struct {
	calls map[string]bool // by id: whether the call is open
	ended Type            // the event that ended the run; empty: it has not ended
}

// Ended reports whether an event ended the run, unless the run was resumed since.
func (c *AppendGuard) Ended() bool { return c.ended != "" }

// Note records the next event of the log.
func (c *AppendGuard) Note(t Type, payload []byte) {
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

// Check refuses an event that cannot follow: the answer to a call that was never made
// or is answered, a second end of the run, a pull request before there is anything to
// propose. state is the run's.
func (c *AppendGuard) Check(state State, t Type, payload []byte) error {
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
