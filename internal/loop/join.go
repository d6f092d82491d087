package loop

import (
	"context"
	"encoding/json"
	"iter"

	"ramet/internal/history"
	"ramet/internal/llm"
	"ramet/internal/tool"
)

// Join says what follows from the calls of one message: entries that are written behind
// their results, before the model is asked again. known are the memos that the conversation
// holds (see tool.Memory).
type Join func(ctx context.Context, known iter.Seq[json.RawMessage], calls []tool.Call) ([]history.Draft, error)

// join writes what the calls of a message brought with them.
func (r *turn) join(ctx context.Context, calls []llm.Part) error {
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
