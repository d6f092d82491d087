package loop

import (
	"context"
	"slices"

	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// join writes what the calls of a message brought with them, and tells the model of tools
// that were opened.
func (r *turn) join(ctx context.Context, calls []llm.Part) error {
	if open := r.Tools.Open(); !offersExactly(r.offer, open.Told()) {
		r.fixed -= sizeOfTools(r.offer)
		r.tell(open)
	}
	if r.Joins == nil {
		return nil
	}
	made := make([]tool.Call, len(calls))
	for i, c := range calls {
		made[i] = tool.Call{Agent: r.Agent, ID: c.CallID, Name: c.Name, Args: c.Args}
	}
	drafts, err := r.Joins(ctx, r.c.memos(), made)
	if err != nil {
		return err
	}
	return r.write(ctx, drafts...)
}

// tell lets the model know of tools from the next request on.
func (r *turn) tell(open tool.Box) {
	told := open.Told().Names()
	r.untold = slices.DeleteFunc(open.Names(), func(name string) bool { return slices.Contains(told, name) })
	r.offer = open.Offer()
	r.fixed += sizeOfTools(r.offer)
}

// sizeOfTools returns how much a model has to read of tools, about.
func sizeOfTools(offer []llm.Tool) (n int64) {
	for _, t := range offer {
		n += int64(len(t.Name) + len(t.Description) + len(t.Schema))
	}
	return n
}

// offersExactly reports whether the model was told of exactly these tools.
func offersExactly(offer []llm.Tool, box tool.Box) bool {
	return slices.EqualFunc(offer, box, func(o llm.Tool, t tool.Tool) bool { return o.Name == tool.NameOf(t) })
}
