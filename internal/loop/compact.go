package loop

import (
	"context"
	"fmt"

	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/llm"
)

const (
	keepNewest   = 6       // messages that a compaction in mid-turn leaves as they are
	compactTries = 4       // how often what is summarised is halved
	maxTold      = 8 << 10 // of a call or result in what is summarised
)

// summarise is what the model is asked for.
const summarise = `Summarise the conversation above. The summary will stand in its place, and you will go on from it, so keep
everything that is still needed: what the user wants and has decided, in their words where these matter; what was done
and found out, with names of files, functions, commands and agents; what failed and why; what is open, and the next
step. Leave out what is settled and of no further use. Write plain text, and nothing but the summary.`

// Compact replaces all but the newest messages of the context by a summary that
// the model writes: at least keep messages stay, and the newest of the user with
// what follows it, as far as there is something before. No call is separated from
// its result. The entries stay in the history, and a rewind brings them back.
//
// Nothing to compact is CONFLICT.
func Compact(ctx context.Context, t Turn, c *Conversation, keep int) error {
	r, err := begin(t, c)
	if err != nil {
		return err
	}
	err = r.compact(ctx, "as asked", keep, 0)
	if err != nil && ctx.Err() != nil && !lost(err) {
		return ended(ctx)
	}
	return err
}

// compact has a summary made of at least so many bytes.
func (r *turn) compact(ctx context.Context, why string, keep int, least int64) error {
	items := r.c.items()
	from := 0
	for from < len(items) && items[from].kind == history.System {
		from++
	}
	to, ok := cutAt(items, from, keep)
	if !ok || items[to].state.size-items[from].state.size < least {
		return fault.New(fault.Conflict, "there is nothing to compact: the context is short, or one message fills it").
			WithHint("/clear begins a new context")
	}
	r.emit(Event{Type: Compacting, Text: why})
	for try := 1; ; try++ {
		err := r.replace(ctx, items, from, to)
		if !fault.Is(err, fault.ProviderContext) || try == compactTries || ctx.Err() != nil {
			return err
		}
		half, ok := lastClean(items, from+(to-from)/2)
		if !ok || half <= from {
			return err
		}
		to = half
	}
}

// cutAt finds the first message that stays: the newest of the user that leaves
// something to summarise and enough to keep, else the newest at which no call is
// open.
func cutAt(items []item, from, keep int) (int, bool) {
	newest := min(len(items)-1, len(items)-keep)
	for i := newest; i > from; i-- {
		if items[i].kind == history.User && items[i].clean && worth(items[from:i]) {
			return i, true
		}
	}
	for i := newest; i > from; i-- {
		if items[i].clean && items[i].kind != history.ToolResult && worth(items[from:i]) {
			return i, true
		}
	}
	if keep > 1 {
		return cutAt(items, from, keep/2)
	}
	return 0, false
}

// worth says whether a summary of these would be shorter: there is an answer in
// them.
func worth(items []item) bool {
	for _, it := range items {
		if it.kind == history.Assistant {
			return true
		}
	}
	return false
}

func lastClean(items []item, at int) (int, bool) {
	for ; at > 0; at-- {
		if items[at].clean && items[at].kind != history.ToolResult {
			return at, true
		}
	}
	return 0, false
}

// replace has the items summarised and writes that.
func (r *turn) replace(ctx context.Context, items []item, from, to int) error {
	limit, err := r.allowed(ctx)
	if err != nil {
		return r.refused(ctx, err)
	}
	messages := append(told(r.c.upTo(items[to].outs)), llm.Say(llm.User, summarise))
	q := r.request(messages, limit)
	// What the tools did is told in words: vendors refuse calls of tools that are not
	// offered, and a model that has tools would use them.
	q.Tools, q.CacheAfter = nil, nil
	said, _, err := r.stream(ctx, q, false)
	text := r.kept(said.message.Text())
	if err == nil && text == "" {
		err = fault.New(fault.ProviderProtocol, "compact: the model wrote no summary").WithHint("try again, or ask another model")
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ended(ctx)
		}
		if !lost(err) {
			drafts := []history.Draft{usage(said.call)}
			drafts[0].Meta.Reason = r.kept(reason(err))
			if ctx.Err() != nil {
				drafts = append(drafts, r.interrupted("", err))
			}
			if writing := r.write(ctx, drafts...); writing != nil {
				return writing
			}
			r.spent(said.call)
		}
		return err
	}
	d, err := history.NewCompact(text, items[from].first, items[to-1].end)
	if err != nil {
		return err
	}
	if err := r.write(ctx, d, usage(said.call)); err != nil {
		return err
	}
	r.spent(said.call)
	return nil
}

// told is messages without calls, results and thoughts, but with what they say.
func told(messages []llm.Message) []llm.Message {
	out := make([]llm.Message, len(messages))
	for i, m := range messages {
		plain := m.Role == llm.User || m.Role == llm.System
		for _, p := range m.Parts {
			plain = plain || p.Type == llm.Text && len(m.Parts) == 1 && m.Role == llm.Assistant
		}
		if out[i] = m; plain {
			continue
		}
		out[i].Parts = nil
		if m.Role == llm.ToolRole {
			out[i].Role = llm.User
		}
		for _, p := range m.Parts {
			switch p.Type {
			case llm.Text:
				if p.Text != "" {
					out[i].Parts = append(out[i].Parts, llm.Part{Type: llm.Text, Text: p.Text})
				}
			case llm.ToolCall:
				out[i].Parts = append(out[i].Parts, llm.Part{Type: llm.Text, Text: fmt.Sprintf("[calls %s %s]", p.Name, both(string(p.Args), maxTold))})
			case llm.ToolResult:
				out[i].Parts = append(out[i].Parts, llm.Part{Type: llm.Text, Text: fmt.Sprintf("[%s answers]\n%s", p.Name, both(p.Text, maxTold))})
			case llm.Image:
				out[i].Parts = append(out[i].Parts, p)
			}
		}
	}
	return out
}
