package loop

import (
	"context"
	"slices"

	"ramet/internal/llm"
	"ramet/internal/tool"
)

// join writes what the calls of a message brought with them, and tells the model of tools
// that were opened.
func (r *turn) join(ctx context.Context, calls []llm.Part) (err error) {
	if open := r.Tools.Open(); !offered(r.offer, open) {
		r.fixed -= sizeOfTools(r.offer)
		if r.offer, err = open.Offer(); err != nil {
			return err
		}
		r.fixed += sizeOfTools(r.offer)
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

// sizeOfTools is how much a model has to read of tools, about.
func sizeOfTools(offer []llm.Tool) (n int64) {
	for _, t := range offer {
		n += int64(len(t.Name) + len(t.Description) + len(t.Schema))
	}
	return n
}

// offered says whether the model was told of exactly these tools.
func offered(offer []llm.Tool, box tool.Box) bool {
	return slices.EqualFunc(offer, box, func(o llm.Tool, t tool.Tool) bool { return o.Name == t.Spec().Name })
}
