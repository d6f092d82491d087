package history

import (
	"cmp"
	"context"

	"ramet/internal/base/id"
)

// lookBack limits how many entries are read at once to find the last final one.
const lookBack = 64

// LastFinal returns the newest own entry of an agent behind which no call of a tool waits for
// its result: the point at which the agent can be forked while another process lets it work.
func LastFinal(ctx context.Context, log Log, a id.Agent) (id.Message, error) {
	answered := map[string]bool{}
	var head id.Message // newest of all
	var spoken *Entry   // newest message with calls, and whether one of them is open
	var open bool       //
	end := NoLimit
	for {
		n := 0
		var last id.Message
		for e, err := range log.QueryRange(ctx, Range{Agent: a, End: end}, Selection{Newest: lookBack, Any: true}) {
			if err != nil {
				return 0, err
			}
			n, last = n+1, e.ID
			head = cmp.Or(head, e.ID)
			if spoken != nil { // this one stands before it
				return e.ID, nil
			}
			calls, err := callsOf(e, answered)
			if err != nil {
				return 0, err
			}
			if len(calls) == 0 {
				continue
			}
			for _, call := range calls {
				open = open || !answered[call]
			}
			if !open {
				return head, nil
			}
			spoken = &e
		}
		if n < lookBack || last <= 1 {
			return head, nil
		}
		end = UpTo(last - 1)
	}
}

// callsOf returns the calls that an entry makes; results that it holds are noted.
func callsOf(e Entry, answered map[string]bool) ([]string, error) {
	if e.Kind != Assistant && e.Kind != ToolResult && e.Kind != Interrupted {
		return nil, nil
	}
	parts, err := e.Parts()
	if err != nil {
		return nil, err
	}
	var calls []string
	for _, p := range parts {
		switch {
		case p.Type == ToolCall:
			calls = append(calls, p.CallID)
		case p.CallID != "":
			answered[p.CallID] = true
		}
	}
	return calls, nil
}
