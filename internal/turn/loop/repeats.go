package loop

import (
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/model/llm"
)

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
