// Package driver lets other programs drive agents: Claude Code, Codex, or any that speaks a protocol
// with an adapter (driver/acp). Such an agent is a process like every other; only its turns are
// carried out by that program.
//
//   - What was sent to the program and what it reports is in the agent's history, each entry when it
//     is final, with driver, version and session (history.Driver). Partial output is kept as after
//     any interruption.
//   - Everything in the context before a `driver` command is in the session that the command names.
//     So a later turn knows what the session has not seen, and nothing is sent twice or replayed
//     into the history.
//   - A session is continued by its own agent alone. A child continues in a fork of it if the
//     program can fork and the fork point is the end of a turn. Otherwise, as after a rewind or with
//     another driver, it starts a new session with a bounded rendering of the history, marked as such.
//   - Requests for permission are decided as for our own tools (loop.Guard).
//   - When a turn is stopped or its agent killed, nothing of the program is alive when Run returns:
//     it is sent a cancel, after five seconds SIGTERM, after two more SIGKILL.
//   - Nothing is prompted by itself. Every call has a result; one that the program did not report
//     is recorded as unknown.
//   - The modes, models and commands that a program offered last are kept in a file, so that every
//     face can show them. The file is replaced whole; one that cannot be read is ignored.
package driver

import (
	"context"
	"encoding/json"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/driver/gateway"
	"ramet/internal/model/llm"
)

// Ref names a driver, and the model that its program is to use; empty: its own choice.
func Ref(name, model string) llm.Ref {
	if model != "" {
		name += "/" + model
	}
	return llm.Ref{Vendor: agent.DriverVendor, Name: name}
}

// Session is a conversation with a program that runs.
type Session interface {
	// About says what the session is.
	About() About
	// Offer is what its user can choose, as far as the program told it.
	Offer() Offer
	// Choose makes the session work by another wish. false: it cannot be made to; a new process can.
	Choose(ctx context.Context, w Wish) (bool, error)
	// Prompt says something and returns when the program has answered. on is told what it
	// does, by one goroutine at a time, before Prompt returns; it may take its time. When ctx
	// ends the program is told to cancel; Prompt still waits for its answer, or its end.
	Prompt(ctx context.Context, what []llm.Part, on func(Update)) (Stop, error)
	// End ends the program, and returns when nothing of it is alive. It may be called at any
	// time, and more than once.
	End()
	// Ended is closed when the program has ended.
	Ended() <-chan struct{}
}

// About is what is known of a session.
type About struct {
	Driver, Version string
	Session         string
	Wish            Wish // by which it works
	Images          bool // it takes images
	Boxed           bool // it runs confined
	Asks            bool // it asks before it changes anything
	// Wire is what its calls of models came to so far, as counted on the way; nil: nobody counts.
	Wire func(context.Context) gateway.Total
}

// Place is where a session begins.
type Place struct {
	Resume string // the session that goes on; empty: none
	Fork   string // the session that it is a fork of; empty: none
}

// Program opens sessions.
type Program interface {
	// Open starts the program for an agent and its session at a place. A session that it does
	// not know, or a place that it cannot begin at, is NOT_FOUND: then a new one can begin.
	// PROVIDER_AUTH: it wants its user to log in.
	Open(ctx context.Context, a agent.Agent, w Wish, at Place) (Session, error)
	// Name is that of the driver.
	Name() string
}

// UpdateType says what a program tells.
type UpdateType string

// The updates.
const (
	Said    UpdateType = "said"    // Text: a piece of what it says
	Thought UpdateType = "thought" // Text: a piece of what it thinks
	Called  UpdateType = "called"  // Call: as it is now; Text: what it printed since
	Planned UpdateType = "planned" // Plan
	Drew    UpdateType = "drew"    // Image: that it says something with
	Moved   UpdateType = "moved"   // Text: the mode of its own into which it went by itself
	Used    UpdateType = "used"    // Usage, Cost: of the turn so far
	Asked   UpdateType = "asked"   // Call, Reply
	Odd     UpdateType = "odd"     // Text: something that nobody here understands
)

// Update is one thing that a program tells. Only the fields of its type are set.
type Update struct {
	Type  UpdateType
	Text  string
	Call  Call
	Plan  []Step
	Image llm.Part
	Usage llm.Usage
	Cost  llm.Money
	// Reply answers what was asked, once.
	Reply func(Reply)
}

// Reply is an answer to a program that asks for permission.
type Reply string

// The replies. Nothing is ever permitted for longer than once: what is asked again goes
// through our rules again.
const (
	Allow  Reply = "allow"
	Refuse Reply = "refuse"
	Cancel Reply = "cancel" // the turn is being stopped
)

// Call is a use of one of the program's tools.
type Call struct {
	ID     string
	Title  string
	Tool   string // the program's name of its tool; empty: it does not tell
	Kind   string // read, edit, delete, move, search, execute, think, fetch, switch_mode, other
	Status Status
	Input  json.RawMessage // as the program tells it; nil: it does not
	Output string          // what it gave back
	Prints bool            // the program tells what it prints as it comes
	Images []llm.Part
	Diffs  []Diff
	Paths  []string // absolute, that it is about
}

// Status is how far a call is.
type Status string

// The states of a call.
const (
	Pending Status = "pending"
	Running Status = "running"
	Done    Status = "done"
	Failed  Status = "failed"
)

// Ended says whether nothing follows.
func (s Status) Ended() bool { return s == Done || s == Failed }

// Diff is a change of a file: of a piece of it, or the whole.
type Diff struct {
	Path     string
	Old, New string
	Line     int // of the file, at which the piece begins; 0: not known
}

// Step is one of a plan.
type Step struct {
	Text   string
	Status string // pending, in_progress, completed
}

// Stop is how a prompt was answered.
type Stop struct {
	Reason string // the program's word: end_turn, max_tokens, cancelled, refusal, …
	Usage  llm.Usage
	Cost   llm.Money // 0: it does not say
}

// outcome is how the answer ended, in the words of all models.
func (s Stop) outcome() string {
	switch s.Reason {
	case "max_tokens", "max_turn_requests":
		return string(llm.Length)
	case "refusal":
		return string(llm.Error)
	}
	return string(llm.Stop)
}

// meta is what each entry of a session says.
func (a About) meta() history.Meta {
	return history.Meta{Driver: &history.Driver{Name: a.Driver, Version: a.Version, Session: a.Session, Attested: history.Reported}}
}

// stand describes a driver's session, as a history has it.
type stand struct {
	Place
	mark    id.Message // the newest entry of the session; 0: there is none to go on with
	unheard []history.Entry
	cut     bool // the last turn of the session did not end
}

// How many entries are read at once: mostly the last turn ended with the session, and little was said since.
const (
	lookFirst = 8
	lookBack  = 64
)

// find reads the end of an agent's history: which session of the driver it can go on with, and
// what that has not heard. Only as much is read as there is behind the session's last entry.
func find(ctx context.Context, log history.Log, a id.Agent, driver string) (stand, error) {
	var out stand
	ranges, err := history.BuildRanges(ctx, log, a)
	if err != nil {
		return out, err
	}
	for i := len(ranges) - 1; i >= 0; i-- {
		r := ranges[i]
		for many := lookFirst; ; many = lookBack {
			page, err := history.Newest(ctx, log, r, many)
			if err != nil {
				return out, err
			}
			for _, e := range page {
				m, err := e.Decode()
				if err != nil {
					return out, err
				}
				switch {
				case m.Source != "":
					return out.brought(ctx, log, a, e, driver)
				case m.Driver != nil && m.Driver.Name == driver && m.Driver.Session != "":
					return out.at(ctx, log, a, e, *m.Driver)
				case e.Kind == history.Assistant, e.Kind == history.Rewind, e.Kind == history.Compact, e.Kind == history.Redact:
					return out, nil // another one spoke since, or the context is another
				case e.Kind == history.Interrupted:
					out.cut = true
				case e.Kind == history.User, e.Kind == history.Notice, e.Kind == history.System:
					out.unheard = append([]history.Entry{e}, out.unheard...)
				}
			}
			if len(page) < many || page[len(page)-1].ID <= r.Start+1 {
				break
			}
			r.End = history.UpTo(page[len(page)-1].ID - 1)
		}
	}
	return out, nil
}

// at returns the session whose newest entry in the context is e.
func (s stand) at(ctx context.Context, log history.Log, a id.Agent, e history.Entry, d history.Driver) (stand, error) {
	s.mark, s.cut = e.ID, s.cut || e.Kind != history.Usage // with which each turn ends that ends well
	if e.Agent == a {
		s.Resume = d.Session
		return s, nil
	}
	// An ancestor's: it can be forked if it ended a turn there, and has said nothing since.
	ended := e.Kind == history.Usage
	since, err := history.Newest(ctx, log, history.Range{Agent: e.Agent, Start: e.ID}, lookBack)
	if err != nil {
		return s, err
	}
	for _, later := range since {
		m, err := later.Decode()
		if err != nil {
			return s, err
		}
		ended = ended && (m.Driver == nil || m.Driver.Session == "") // calls on the wire are not of the session
	}
	if ended {
		s.Fork = d.Session
	}
	return s, nil
}

// heading limits the entries of an agent before the one that says that it was imported.
const heading = 5

// brought returns a session of the driver's own program that was imported: its last line is e, and
// nothing was said since. It continues under its own name, in its own agent; a branch of it, or
// a part, is told in words.
func (s stand) brought(ctx context.Context, log history.Log, a id.Agent, e history.Entry, driver string) (stand, error) {
	if e.Agent != a {
		return s, nil
	}
	n := 0
	for first, err := range log.QueryRange(ctx, history.Range{Agent: a}, history.Selection{}) {
		if err != nil {
			return s, err
		}
		if n++; n > heading {
			break
		}
		m, err := first.Decode()
		if err != nil {
			return s, err
		}
		if m.Import != nil && m.Import.Program == driver && !m.Import.Part() {
			s.mark, s.Resume = e.ID, m.Import.Session
			return s, nil
		}
	}
	return s, nil
}
