package state_test

import (
	"encoding/json"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
	"ramet/internal/testkit"
)

func TestOneFunction(t *testing.T) {
	const me = id.Agent("me")
	ending := func(k history.Kind, m history.Meta) state.Ending {
		b := testkit.Must(json.Marshal(m))(t)
		return state.Ending{Kind: k, Meta: b}
	}
	call := func(outcome string) history.Meta { return history.Meta{Call: &history.Call{Outcome: outcome}} }
	because := func(why string) history.Meta { return history.Meta{Reason: why} }
	born := func(e state.Ending) state.Ending { e.Born = true; return e }
	dead := func(by id.Agent, why string, e state.Ending) state.Ending { e.By, e.Reason = by, why; return e }
	answered := ending(history.Usage, call("stop"))
	for _, c := range []struct {
		name   string
		status agent.Status
		by     state.Holder
		doing  state.State
		last   state.Ending
		want   string
	}{
		{"never used", agent.Running, state.Nobody, state.State{}, state.Ending{}, "idle"},
		{"answered", agent.Running, state.Nobody, state.State{}, answered, "idle"},
		{"its task is answered", agent.Running, state.Nobody, state.State{}, born(answered), "done"},
		{"it reported", agent.Running, state.Nobody, state.State{}, ending(history.Mail, because(state.Well)), "done"},
		{"it reported a failure", agent.Running, state.Nobody, state.State{}, ending(history.Mail, because("PROVIDER_AUTH: no key")), "failed: PROVIDER_AUTH: no key"},
		{"the call failed", agent.Running, state.Nobody, state.State{}, ending(history.Usage, call("PROVIDER_RATE_LIMIT")), "failed: PROVIDER_RATE_LIMIT"},
		{"the call failed, with words", agent.Running, state.Nobody, state.State{}, born(ending(history.Usage, because("STREAM_CUT: the end is missing"))), "failed: STREAM_CUT: the end is missing"},
		{"the call was left", agent.Running, state.Nobody, state.State{}, ending(history.Usage, call("abandoned")), "interrupted"},
		{"stopped", agent.Running, state.Nobody, state.State{}, ending(history.Interrupted, because("CANCELLED: the turn was stopped: stopped by the user")), "interrupted: stopped by the user"},
		{"its process ended", agent.Running, state.Nobody, state.State{}, born(ending(history.Interrupted, because("the process ended"))), "interrupted: the process ended"},
		{"a stream that broke", agent.Running, state.Nobody, state.State{}, ending(history.Interrupted, because("STREAM_CUT: x")), "failed: STREAM_CUT: x"},
		{"a limit", agent.Running, state.Nobody, state.State{}, ending(history.Note, because(state.Why(fault.New(fault.BudgetExceeded, "spent")))), "failed: BUDGET_EXCEEDED: spent"},
		{"cleared", agent.Running, state.Nobody, state.State{}, ending(history.Clear, history.Meta{}), "idle"},
		{"spoken to by hand", agent.Running, state.Nobody, state.State{}, ending(history.User, history.Meta{}), "idle"},
		{"damaged", agent.Running, state.Nobody, state.State{}, state.Ending{Kind: history.Usage, Meta: []byte("{")}, "idle"},
		{"at work here", agent.Running, state.Kernel, state.State{Word: state.Working, Detail: state.Runs("bash")}, answered, "working: runs bash"},
		{"asks", agent.Running, state.Kernel, state.State{Word: state.Asks}, answered, "asks"},
		{"needs a key", agent.Running, state.Nobody, state.State{Word: state.NeedsKey, Detail: "X_API_KEY"}, answered, "needs a key: X_API_KEY"},
		{"at work where nobody can be asked", agent.Running, state.Kernel, state.State{}, answered, "working: works elsewhere"},
		{"its kernel is gone", agent.Running, state.Gone, state.State{}, answered, "interrupted: the process that ran it ended"},
		{"killed", agent.Dead, state.Nobody, state.State{}, dead("", "killed", answered), "killed"},
		{"killed, why", agent.Dead, state.Nobody, state.State{Word: state.Working}, dead("", "enough", answered), "killed: enough"},
		{"killed by another", agent.Dead, state.Nobody, state.State{}, dead("other", "", answered), "killed"},
		{"it went by itself", agent.Dead, state.Nobody, state.State{}, dead(me, "exited", ending(history.Usage, call("tool_calls"))), "done"},
		{"it ended with its task", agent.Dead, state.Nobody, state.State{}, dead(me, "its item is done", answered), "done"},
		{"it ended with a failure", agent.Dead, state.Nobody, state.State{}, dead(me, "its item failed", ending(history.Usage, call("PROVIDER_AUTH"))), "failed: PROVIDER_AUTH"},
		{"it was over", agent.Dead, state.Nobody, state.State{}, dead("", state.Over, ending(history.Mail, because("TIMED_OUT: late"))), "failed: TIMED_OUT: late"},
	} {
		got := state.Of(agent.Agent{ID: me, Status: c.status}, c.by, c.doing, c.last)
		if got.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestStatesAreShort(t *testing.T) {
	for _, c := range []struct {
		s    state.State
		want string
	}{
		{state.State{Word: state.Working, Detail: "runs bash"}, "runs bash"},
		{state.State{Word: state.Working}, "working"},
		{state.State{Word: state.Waits, Detail: "for mail from ada"}, "waits for mail from ada"},
		{state.State{Word: state.Failed, Detail: "X: long"}, "failed"},
	} {
		if got := c.s.Short(40); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
