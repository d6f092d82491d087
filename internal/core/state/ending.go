package state

import (
	"encoding/json"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
)

// Ending describes what the end of an agent's own history tells.
type Ending struct {
	Kind history.Kind // of its newest entry that Telling names; empty: there is none
	Meta []byte       // of that entry
	// Born reports that the newest words of a user in it came with the fork: what followed
	// was the task.
	Born bool
	// By holds who ended a dead agent; empty: the user.
	By id.Agent
	// Reason gives why it was ended.
	Reason string
}

// Telling are the kinds of entries that tell how a turn ended, or that there was none
// since. Notes and letters do where they have a reason: Reasoned.
var (
	Telling = []history.Kind{history.User, history.Notice, history.Assistant, history.ToolResult, history.Usage, history.Interrupted,
		history.Clear, history.Rewind}
	Reasoned = []history.Kind{history.Note, history.Mail}
)

// Well is the reason of a letter in which an agent reports that its task ended well.
const Well = "done"

// Why returns the reason of an entry that tells of a failure: code and words, on one line.
func Why(err error) string {
	return text.Line(string(fault.CodeOf(err))+": "+err.Error(), 400)
}

// After returns the state of a task whose turn ended this way.
func After(err error) State {
	if err == nil {
		return State{Word: Done}
	}
	return stateOfReason(Why(err))
}

// state returns what the history tells of an agent that no kernel holds.
func (e Ending) state() State {
	switch e.Kind {
	case history.Interrupted, history.Note, history.Mail, history.Usage:
	default:
		return State{Word: Idle} // whatever is in its meta
	}
	m, err := readEnding(e.Meta)
	if err != nil {
		return State{Word: Idle} // verify tells of damage
	}
	switch e.Kind {
	case history.Interrupted:
		return stateOfReason(m.Reason)
	case history.Note, history.Mail:
		if m.Reason == Well {
			return State{Word: Done}
		}
		return stateOfReason(m.Reason)
	case history.Usage:
		return e.called(m)
	}
	return State{Word: Idle}
}

// readEnding reads only those fields of an entry that tell how a turn ended: to learn all that can
// be in one takes a command that lists agents longer than to list them.
func readEnding(meta []byte) (history.Meta, error) {
	var of struct {
		Reason string `json:"reason"`
		Call   *struct {
			Outcome string `json:"outcome"`
		} `json:"call"`
		Driver *struct {
			Attested string `json:"attested"`
			Session  string `json:"session"`
		} `json:"driver"`
	}
	if err := json.Unmarshal(meta, &of); err != nil {
		return history.Meta{}, err
	}
	m := history.Meta{Reason: of.Reason}
	if of.Call != nil {
		m.Call = &history.Call{Outcome: of.Call.Outcome}
	}
	if of.Driver != nil {
		m.Driver = &history.Driver{Attested: of.Driver.Attested, Session: of.Driver.Session}
	}
	return m, nil
}

// called returns what the record of the last call of a model tells.
func (e Ending) called(m history.Meta) State {
	switch {
	case m.Reason != "":
		return stateOfReason(m.Reason)
	case m.Call == nil:
		return State{Word: Idle}
	case m.Wired() && e.Born: // one of many calls of a program, which say nothing of its turn
		return State{Word: Done}
	case m.Wired():
		return State{Word: Idle}
	case m.Call.Outcome == "abandoned" || fault.Code(m.Call.Outcome) == fault.Cancelled:
		return State{Word: Interrupted}
	case strings.ToUpper(m.Call.Outcome) == m.Call.Outcome: // a code: the call failed
		return State{Word: Failed, Detail: m.Call.Outcome}
	case e.Born:
		return State{Word: Done}
	}
	return State{Word: Idle}
}

// stateOfReason reads a reason: what was stopped is interrupted, all else failed.
func stateOfReason(why string) State {
	code, words, coded := strings.Cut(why, ": ")
	if !coded || code != strings.ToUpper(code) || strings.ContainsAny(code, " ") {
		return State{Word: Interrupted, Detail: why} // the process ended
	}
	switch fault.Code(code) {
	case fault.Cancelled, fault.Interrupted, fault.Fenced, fault.DeadAgent:
		return State{Word: Interrupted, Detail: strings.TrimPrefix(words, "the turn was stopped: ")}
	}
	return State{Word: Failed, Detail: why}
}
