// Package state says what an agent does, or how it ended, in one vocabulary for every
// face: ps, show, the terminal, the page, HTTP, the tools of models.
//
//	working      a turn is under way; how: thinks, writes, runs bash, compacts, stopping
//	asks         a call waits for a person's permission
//	waits        for mail, and of whom
//	needs a key  a turn that a letter began waits for the key of its model; its variable
//	idle         nothing is under way
//	done         its task ended well
//	failed       its last turn, or its task, ended badly; why
//	interrupted  its last turn was stopped, or the process that ran it ended; why
//	killed       a person or an agent ended it; why
//
// Of is the one function that decides. It knows nothing but what it is given: the row of
// the registry, who holds the lease, what that kernel tells, and the entries that end the
// history; so it says the same in every process, and after every restart. Sources gathers
// these for all agents at once.
//
// The registry's own status (running, dead) lies underneath and is not replaced.
package state

import (
	"encoding/json"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

// Word describes what an agent does, or how it ended.
type Word string

// The words.
const (
	Working     Word = "working"
	Asks        Word = "asks"
	Waits       Word = "waits"
	NeedsKey    Word = "needs a key"
	Idle        Word = "idle"
	Done        Word = "done"
	Failed      Word = "failed"
	Interrupted Word = "interrupted"
	Killed      Word = "killed"
)

// What a working agent does.
const (
	Starts   = "starts"
	Thinks   = "thinks"
	Writes   = "writes"
	Compacts = "compacts"
	Retries  = "asks the model again"
	Stopping = "stopping"
	// Elsewhere is of a kernel that cannot be asked.
	Elsewhere = "works elsewhere"
)

// Runs returns the detail of a working agent whose tool runs.
func Runs(tool string) string { return "runs " + text.Line(tool, 40) }

// State is a word, and what there is to say about it.
type State struct {
	Word   Word   `json:"word"`
	Detail string `json:"detail,omitempty"`
	// Commands are those that it left running in the background, on one line.
	Commands string `json:"commands,omitempty"`
	// Foreign names the sources of the foreign content in its context, on one line.
	Foreign string `json:"foreign_content,omitempty"`
}

// Busy reports whether there is something to stop.
func (s State) Busy() bool {
	return s.Word == Working || s.Word == Asks || s.Word == Waits || s.Word == NeedsKey
}

// Resumes reports whether a prompt without words continues what the agent did.
func (s State) Resumes() bool { return s.Word == Interrupted || s.Word == NeedsKey }

// Finished reports whether it has done what it was there for, well or not.
func (s State) Finished() bool { return s.Word == Done || s.Word == Failed }

// String returns the state on one line.
func (s State) String() string {
	said := string(s.Word)
	if s.Detail != "" {
		said += ": " + s.Detail
	}
	if s.Foreign != "" {
		said += ", foreign content: " + s.Foreign
	}
	if s.Commands != "" {
		said += ", in the background: " + s.Commands
	}
	return said
}

// Short returns the state in so few letters: of a working agent what it does.
func (s State) Short(letters int) string {
	switch {
	case s.Word == Working && s.Detail != "":
		return text.Line(s.Detail, letters)
	case s.Word == NeedsKey && s.Detail != "":
		return text.Line(s.String(), letters)
	case s.Word == Waits && s.Detail != "":
		return text.Line("waits "+s.Detail, letters)
	}
	return text.Line(string(s.Word), letters)
}

// Holder classifies the holder of an agent's lease.
type Holder int

// No process does; a kernel does; one did that is known to be gone, or whose lease ran out.
const (
	Nobody Holder = iota
	Kernel
	Gone
)

// Of returns what an agent does. doing is what the kernel tells that holds it; its zero value
// is of one that cannot be asked.
func Of(a agent.Agent, by Holder, doing State, last Ending) State {
	now := stateFrom(&a, by, doing, last)
	if a.Status != agent.Dead {
		now.Commands = doing.Commands
	}
	now.Foreign = text.Line(strings.Join(last.Foreign, ", "), maxForeign)
	return now
}

// maxForeign limits the length of the sources of foreign content.
const maxForeign = 200

func stateFrom(a *agent.Agent, by Holder, doing State, last Ending) State {
	switch {
	case a.Status == agent.Dead:
		return endedState(a, last)
	case doing.Word != "":
		return doing
	case by == Kernel:
		return State{Word: Working, Detail: Elsewhere}
	case by == Gone:
		return State{Word: Interrupted, Detail: "the process that ran it ended"}
	}
	return last.state()
}

// endedState returns how a dead agent ended. One that ended itself is judged by what it did before; whom
// others end after the fact, too.
func endedState(a *agent.Agent, last Ending) State {
	if last.By != a.ID && last.Reason != Over {
		return State{Word: Killed, Detail: extraReason(last.Reason)}
	}
	now := last.state()
	if now.Word == Idle {
		return State{Word: Done}
	}
	return now
}

// Over is the reason for which agents end that are done or have failed, and are not needed
// any more: they stay what they were.
const Over = "it was over"

// extraReason returns the reason, if it says more than the state.
func extraReason(why string) string {
	if why == "" || why == string(Killed) {
		return ""
	}
	return text.Line(strings.TrimSpace(why), 200)
}

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
	// Foreign are the sources of the foreign content in its context.
	Foreign []string
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
