// Package hook is what programs of the user and of the project are told while agents work, and
// what follows from their answers. It is pure: package hook/program runs the programs.
//
// Hooks are in two places. Those of .claude/settings.json and settings.local.json keep the
// contract of the program that these files belong to: its events, its names of tools and
// arguments, its exit codes and answers. Those of ramet's own configuration ([[hooks]]) have
// further events, ramet's names, and may be required.
//
// It promises:
//
//   - Exit 0 lets things go on; what is printed may be an answer in JSON. Exit 2 objects, where
//     there is something to object to, and says why on standard error. Every other end, a
//     timeout too, is a failure that stops nothing; of a hook that is required it objects.
//   - Hooks narrow and never widen: one that says "allow" spares no question and permits nothing.
//   - A hook that changes arguments changes them before permission is asked.
//   - Each firing is an entry of the history (history.Hook), and from there a telemetry record.
package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/text"
	"ramet/internal/core/history"
)

// Event is an occasion on which hooks run.
type Event string

// The events of the other program.
const (
	PreToolUse       Event = "PreToolUse"
	PostToolUse      Event = "PostToolUse"
	UserPromptSubmit Event = "UserPromptSubmit"
	Stop             Event = "Stop"
	SubagentStart    Event = "SubagentStart"
	SubagentStop     Event = "SubagentStop"
	SessionStart     Event = "SessionStart"
	Notification     Event = "Notification"
	PreCompact       Event = "PreCompact"
)

// The events that only hooks of ours have.
const (
	Fork        Event = "Fork"        // children are about to be made
	Kill        Event = "Kill"        // an agent is about to be ended
	Mail        Event = "Mail"        // a letter is about to be sent
	Interrupted Event = "Interrupted" // a turn was broken off
	RunState    Event = "RunState"    // a run has entered a state
)

// Theirs lists the events that the other program's files may name.
var Theirs = []Event{PreToolUse, PostToolUse, UserPromptSubmit, Stop, SubagentStart, SubagentStop, SessionStart, Notification, PreCompact}

// objects reports whether something is about to happen that a hook can keep from happening.
func (e Event) objects() bool {
	switch e {
	case PreToolUse, UserPromptSubmit, Stop, SubagentStop, PreCompact, Fork, Kill, Mail:
		return true
	}
	return false
}

// Patience is the default time limit of a hook.
const Patience = 60 * time.Second

// Hook is one that is named somewhere.
type Hook struct {
	Event    Event
	Matcher  string // empty or *: always
	Command  string // a line of the shell
	Timeout  time.Duration
	Required bool   // any failure objects
	Theirs   bool   // it keeps the other program's contract, and knows its names
	Project  bool   // it came with the project: it runs confined
	From     string // where it stands, for people
	Broken   error  // why its file can't be read: it may be a guard, so what it would judge is refused
}

// Patience returns how long it may take.
func (h Hook) Patience() time.Duration {
	if h.Timeout > 0 {
		return h.Timeout
	}
	return Patience
}

// Occasion is something that happens.
type Occasion struct {
	Event Event
	// Of a call of a tool: its name and arguments, as ramet has them; once it is over, what
	// it answered.
	Tool, CallID string
	Args         json.RawMessage
	Answer       string
	// About is matched on occasions without a tool: a source, a trigger, a kind of agent, a
	// kind of notification, a state.
	About string
	// Fields are further members of what hooks are told.
	Fields map[string]any
	// Shown means that nothing is to be kept from happening: objections are told to people.
	Shown bool
}

// Place describes where and for which agent hooks run; its fields are members of their input.
type Place struct {
	Session string // the agent that a person talks with
	Agent   string // the agent that it happens to
	Name    string // of that agent; empty: it has none
	Dir     string // its folder
	Mode    string // how its calls are permitted
}

var plainMatcher = text.Regexp(`^[A-Za-z0-9_| -]*$`)

// Fits reports whether a hook runs on an occasion. A matcher of plain names, with | between them, is
// one of them; any other is a regular expression, which may fit anywhere in the name. One that is
// not readable fits everything, for it may be a guard.
func (h Hook) Fits(o Occasion) bool {
	if h.Event != o.Event {
		return false
	}
	if h.Matcher == "" || h.Matcher == "*" {
		return true
	}
	var names []string
	switch {
	case o.Tool != "":
		if names = theirNames(o.Tool, o.Args); !h.Theirs {
			names = append(names, o.Tool)
		}
	case o.About != "":
		names = []string{o.About}
	default:
		return true // there is nothing that could be matched
	}
	if plainMatcher().MatchString(h.Matcher) {
		for one := range strings.SplitSeq(h.Matcher, "|") {
			if slices.Contains(names, strings.TrimSpace(one)) {
				return true
			}
		}
		return false
	}
	re, err := regexp.Compile(h.Matcher)
	return err != nil || slices.ContainsFunc(names, re.MatchString)
}

// Verdict combines the answers of all hooks of an occasion. The zero Verdict lets it happen.
type Verdict struct {
	Denied  bool
	Halts   bool   // the turn is to end
	Asks    bool   // a person is to be asked, whatever rules permit
	Why     string // of any of these
	From    string // where the hook stands that says so
	Context string // for the model; empty: nothing
	Args    json.RawMessage
	Tell    []string // for people
	Entries []history.Draft
}

// Judge puts the answers of hooks together: a no outweighs everything, and the first counts of
// what only one can say.
func Judge(o Occasion, p Place, ran []Ran) Verdict {
	var v Verdict
	var context []string
	for _, r := range ran {
		a := r.read(o)
		if a.denied && !v.Denied {
			v.Denied, v.Why, v.From = true, a.why, r.Hook.From
		}
		if a.halts && !v.Halts {
			v.Halts, v.Why, v.From = true, a.why, r.Hook.From
		}
		if a.asks && !v.Denied && !v.Halts && !v.Asks {
			v.Asks, v.Why, v.From = true, a.why, r.Hook.From
		}
		if a.context != "" {
			context = append(context, a.context)
		}
		if a.args != nil && v.Args == nil {
			if v.Args = a.args; r.Hook.Theirs {
				v.Args = toOurs(o.Tool, p.Dir, a.args)
			}
		}
		if a.tell != "" && !slices.Contains(v.Tell, a.tell) {
			v.Tell = append(v.Tell, a.tell)
		}
		v.Entries = append(v.Entries, history.Draft{Kind: history.Command, Meta: history.Meta{Command: history.HookCommand, Hook: &history.Hook{
			Event: string(o.Event), About: text.Line(o.Tool+o.About, 120), Program: text.Line(r.Hook.Command, 200), From: text.Line(r.Hook.From, 200),
			Outcome: a.outcome, Why: text.Line(a.why, 300), Exit: r.Exit, TookMS: r.Took.Milliseconds(), Confined: r.Hook.Project,
		}}})
	}
	v.Context = strings.Join(context, "\n")
	return v
}

// Ran describes how the program of a hook ended.
type Ran struct {
	Hook     Hook
	Exit     int
	Out, Err []byte
	TimedOut bool
	Failed   error // it could not be started, or may not be; nil: it ran
	Objects  bool  // with Failed: it may be a guard, and so counts as required
	Took     time.Duration
}

// most limits how many bytes of a hook's output are used.
const most = 16 << 10

// answer is the answer of one hook.
type answer struct {
	denied, asks bool
	why          string
	context      string
	args         json.RawMessage
	halts        bool
	tell         string
	outcome      string // for the history
}

// How firings end.
const (
	Passed   = "passed"
	Objected = "objected"
	Failed   = "failed"
	TimedOut = "timed out"
)

// said is the JSON that a hook may print.
type said struct {
	Continue *bool  `json:"continue"`
	Stop     string `json:"stopReason"`
	System   string `json:"systemMessage"`
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Specific struct {
		Decision string          `json:"permissionDecision"`
		Reason   string          `json:"permissionDecisionReason"`
		Context  string          `json:"additionalContext"`
		Input    json.RawMessage `json:"updatedInput"`
	} `json:"hookSpecificOutput"`
}

// read takes the answer of a hook.
func (r Ran) read(o Occasion) answer {
	switch {
	case r.Failed != nil || r.TimedOut || r.Exit != 0 && r.Exit != 2:
		return r.failure(o)
	case r.Exit == 2:
		return r.objection(o, strings.TrimSpace(clipOutput(r.Err)))
	}
	out := bytes.TrimSpace(r.Out)
	words := o.Event == UserPromptSubmit || o.Event == SessionStart // they are for the model
	if len(out) > 0 && out[0] == '{' {
		var s said
		err := json.Unmarshal(out, &s)
		if err == nil {
			return r.spoken(o, s)
		}
		if !words || r.Hook.Required { // it may have been a no
			r.Failed = fmt.Errorf("its answer cannot be read: %w", err)
			return r.failure(o)
		}
	}
	a := answer{outcome: Passed}
	if words {
		a.context = clipOutput(out)
	}
	return a
}

// spoken returns an answer in JSON.
func (r Ran) spoken(o Occasion, s said) answer {
	a := answer{outcome: Passed}
	decision, why := s.Specific.Decision, s.Specific.Reason
	if decision == "" {
		decision, why = s.Decision, s.Reason
	}
	switch decision {
	case "deny", "block":
		a = r.objection(o, clipOutput([]byte(why)))
	case "ask":
		a.asks, a.why = o.Event == PreToolUse, clipOutput([]byte(why))
	}
	if a.context = strings.TrimPrefix(a.context+"\n"+clipOutput([]byte(s.Specific.Context)), "\n"); s.System != "" {
		a.tell = clipOutput([]byte(s.System))
	}
	if o.Event == PreToolUse && len(s.Specific.Input) > 0 && s.Specific.Input[0] == '{' {
		a.args = s.Specific.Input
	}
	if s.Continue != nil && !*s.Continue {
		a.halts, a.outcome = true, Objected
		if a.why = clipOutput([]byte(s.Stop)); a.why == "" {
			a.why = "a hook stopped it"
		}
	}
	return a
}

// objection returns a hook that says no.
func (r Ran) objection(o Occasion, why string) answer {
	why = cmp.Or(why, "it did not say why")
	a := answer{outcome: Objected, why: why}
	switch {
	case o.Event == PostToolUse: // it has happened: the model is told
		a.context = why
	case o.Event.objects() && !o.Shown:
		a.denied = true
	default:
		a.tell = why
	}
	return a
}

// failure returns a hook that says nothing.
func (r Ran) failure(o Occasion) answer {
	a := answer{outcome: Failed}
	switch {
	case r.TimedOut:
		a.outcome, a.why = TimedOut, fmt.Sprintf("it did not end within %s", r.Hook.Patience())
	case r.Failed != nil:
		a.why = r.Failed.Error()
	default:
		a.why = fmt.Sprintf("it ended with exit code %d", r.Exit)
		if words := text.Line(strings.TrimSpace(string(r.Err)), 300); words != "" {
			a.why += ": " + words
		}
	}
	if !errors.Is(r.Failed, context.Canceled) { // else it was wanted
		a.tell = fmt.Sprintf("the hook of %s (%s) failed: %s", o.Event, text.Line(r.Hook.Command, 80), a.why)
	}
	guards := o.Event != Stop && o.Event != SubagentStop && o.Event != PreCompact
	a.denied = (r.Hook.Required || r.Objects && guards) && o.Event.objects() && !o.Shown
	return a
}

func clipOutput(b []byte) string {
	s := strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(string(b), "\x00", ""), "\uFFFD"))
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "\n[cut]"
	}
	return s
}
