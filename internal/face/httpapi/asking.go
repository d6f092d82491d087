package httpapi

import (
	"context"
	"encoding/json"
	"slices"

	"ramet/internal/core/history"
)

// Change is the change that a call would make: its patch if known, else the content of its arguments.
type Change struct {
	Patch   string `json:"patch,omitempty"` // a unified diff; absent: nobody knows what the file is now
	Removed string `json:"removed"`         // what would go; empty: nothing, or nobody knows
	Added   string `json:"added"`           // what would come
}

// recently limits how many messages back the call of a question is searched: it is in the model's newest message,
// followed only by results of that message's other calls.
const recently = 64

// asking is the questions that wait, each with what its call would write.
func (a Agents) asking(ctx context.Context) ([]Ask, error) {
	if err := a.here(); err != nil {
		return nil, err
	}
	list := a.Asks.List()
	for i := range list {
		if one := &list[i]; (one.Tool == "write" || one.Tool == "edit") && one.CallID != "" && one.Change == nil {
			one.Change = a.change(ctx, *one)
		}
	}
	return list, nil
}

// change reads the call of a question; nil: it is not there. A question that cannot be completed is
// shown all the same.
func (a Agents) change(ctx context.Context, of Ask) *Change {
	tail, err := history.Tail(ctx, a.Store, of.Agent, recently)
	if err != nil {
		return nil
	}
	for _, e := range slices.Backward(tail) {
		if e.Kind != history.Assistant {
			continue
		}
		parts, err := e.Parts()
		if err != nil {
			return nil
		}
		for _, p := range parts {
			if p.Type == history.ToolCall && p.CallID == of.CallID && p.Name == of.Tool {
				return written(p.Args)
			}
		}
	}
	return nil
}

// written returns the change in the arguments of write and edit.
func written(args json.RawMessage) *Change {
	var in struct {
		Content string `json:"content"`
		Old     string `json:"old_string"`
		New     string `json:"new_string"`
	}
	if json.Unmarshal(args, &in) != nil || in.Content+in.Old+in.New == "" {
		return nil
	}
	return &Change{Removed: clip(in.Old, maxSubject), Added: clip(in.Content+in.New, maxSubject)}
}
