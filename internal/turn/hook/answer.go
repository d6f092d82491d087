package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"ramet/internal/base/text"
)

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
