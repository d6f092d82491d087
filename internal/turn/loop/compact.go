package loop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	states "ramet/internal/core/state"
	"ramet/internal/model/llm"
)

// summarise asks the model for a summary.
const summarise = `Summarise the conversation above. The summary will stand in its place, and you will go on from it, so keep
everything that is still needed: what the user wants and has decided; what was done and found out, with names of
files, functions, commands and agents; what failed and why; what is open, and the next step. What the user said
stays beside the summary, in the user's own words. Leave out what is settled and of no further use. Write plain
text, and nothing but the summary.`

// placeholderSummary stands for messages of which the model could make no summary.
func placeholderSummary(items []item) string {
	calls := map[string]int{}
	for _, it := range items {
		for _, p := range it.message.Parts {
			if p.Type == llm.ToolCall {
				calls[p.Name]++
			}
		}
	}
	out := "(No summary could be made of this part."
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		out += fmt.Sprintf(" %s was called %s.", name, text.Count(calls[name], "time"))
	}
	return out + ")"
}

// maxTold limits each call or result in the text to be summarised: less, should
// that be too long.
var maxTold = []int{8 << 10, 2 << 10, 400, 100}

// Compact replaces the older part of the context by a summary that the model writes: at
// least keep messages stay, and the newest of the user with what follows it, as far as there
// is something before. What the user said stays, as room allows. No call is separated from
// its result. The entries stay in the history, and a rewind brings them back.
//
// Nothing to compact is CONFLICT.
func Compact(ctx context.Context, t Turn, c *Conversation, keep int) error {
	r := newTurn(t, c)
	s := r.sketch()
	to, ok := cutAt(s, keep)
	if !ok {
		return nothingToCompact()
	}
	if err := r.mayCompact(ctx, "manual"); err != nil {
		return err
	}
	r.emit(Event{Type: Compacting, Text: "as asked"})
	words := int64(1) << 62
	if window := r.window(); window > 0 {
		words = r.meter.bytesOf(window) / 4
	}
	long, _ := s.longWords(words)
	err := r.replace(ctx, s, s.upTo(to, words, long))
	if err != nil && ctx.Err() != nil && !LostAgent(err) {
		return ContextFault(ctx)
	}
	return err
}

func nothingToCompact() error {
	return fault.New(fault.Conflict, "there is nothing to compact: the context is short, or one message fills it").
		WithHint("/clear begins a new context")
}

// upTo returns a plan that replaces everything before an item.
func (s sketch) upTo(to int, words int64, long []id.Message) plan {
	p := plan{from: s.from, to: to, keep: s.kept(to, words, long)}
	for _, w := range long {
		if slices.Contains(p.keep, w) || w > s.ends[to] {
			p.short = append(p.short, w)
		}
	}
	return p
}

// cutAt finds the first message that stays: the newest of the user that leaves
// something to summarise and enough to keep, else the newest at which no call is
// open.
func cutAt(s sketch, keep int) (int, bool) {
	newest := min(len(s.items)-1, len(s.items)-keep)
	for i := newest; i > s.from; i-- {
		if s.items[i].kind == history.User && s.boundary(i) && s.worth(i) {
			return i, true
		}
	}
	for i := newest; i > s.from; i-- {
		if s.boundary(i) && s.worth(i) {
			return i, true
		}
	}
	if keep > 1 {
		return cutAt(s, keep/2)
	}
	return 0, false
}

// worth reports whether a summary of all before an item would be shorter: there is an answer in
// them.
func (s sketch) worth(to int) bool {
	return slices.ContainsFunc(s.items[s.from:to], func(it item) bool { return it.kind == history.Assistant })
}

// makeRoom frees a quarter of the window or more, in several rounds if what is summarised does
// not fit into one request. Nothing that could go is CONFLICT.
func (r *turn) makeRoom(ctx context.Context, why string) error {
	for round := 0; ; round++ {
		window, filled := r.window(), r.tokens()
		need := filled - window/100*roomTarget
		if round == roomRounds || round > 0 && filled <= window/100*(roomTarget+5) {
			return nil
		}
		s := r.sketch()
		bytes := r.meter.bytesOf(window)
		p := s.plan(r.meter.bytesOf(need), bytes)
		if little := filled >= window/100*roomUrgent && p.frees > bytes/64; !little && p.frees < max(bytes/4, 1) {
			if round > 0 {
				return nil
			}
			return nothingToCompact()
		}
		if round == 0 {
			if err := r.mayCompact(ctx, "auto"); err != nil {
				return err
			}
			r.emit(Event{Type: Compacting, Text: why})
		}
		before := r.c.state.size
		if err := r.carryOut(ctx, s, p); err != nil {
			return err
		}
		if r.c.state.size >= before {
			return nil
		}
	}
}

// carryOut makes room by a plan.
func (r *turn) carryOut(ctx context.Context, s sketch, p plan) error {
	if p.to > p.from {
		err := r.replace(ctx, s, p)
		if ctx.Err() == nil && (fault.Is(err, fault.ProviderContext) || fault.Is(err, fault.ProviderProtocol) || fault.Is(err, fault.ProviderBadRequest)) {
			// The work continues without one.
			return r.replaced(ctx, s, p, placeholderSummary(s.items[p.from:p.to]))
		}
		return err
	}
	return r.write(ctx, history.Draft{Kind: history.Compact, Meta: history.Meta{Short: history.IDs(p.short)},
		Parts: []history.Part{{Type: history.Text, Text: text.Count(len(p.short), "old message") + " shown in short, to make room"}}})
}

// replace has the items of a plan summarised and writes that. Where they do not fit into one
// request, those that do are.
func (r *turn) replace(ctx context.Context, s sketch, p plan) error {
	cuts := 1
	for try := 0; ; try++ {
		limit, err := r.allowed(ctx)
		if err != nil {
			return r.refused(ctx, err)
		}
		q := r.inquiry(s, &p, limit, try)
		said, _, err := r.stream(ctx, q, false)
		summary := r.kept(said.message.Text())
		if err == nil && summary == "" {
			err = fault.New(fault.ProviderProtocol, "compact: the model wrote no summary").WithHint("try again, or ask another model")
		}
		if err == nil {
			if err := r.replaced(ctx, s, p, summary, draftUsage(said.call)); err != nil {
				return err
			}
			r.spent(said.call)
			return nil
		}
		if err := r.noSummary(ctx, said, &err); err != nil {
			return err
		}
		why, passes := errors.AsType[*llm.Failure](err)
		switch {
		case ctx.Err() != nil || LostAgent(err):
			return err
		case fault.Is(err, fault.ProviderContext) && try < len(maxTold)-1:
		case passes && why.Again && said.call.First > 0 && cuts < cutTries && llm.Sleep(ctx, r.Limits.Again<<(cuts-1)):
			cuts, try = cuts+1, try-1 // it broke off: once more
		default:
			return err
		}
	}
}

// inquiry returns the request for a summary of a plan, which it shortens until the request fits: so
// much of the window that there is room for the answer, and half of that with every try.
func (r *turn) inquiry(s sketch, p *plan, limit int64, try int) llm.Request {
	most := int64(1) << 62
	if window := r.window(); window > 0 {
		limit = min(limit, max(window/8, 1024))
		most = r.meter.bytesOf(window-window/8-limit) >> try
	}
	if to, ok := s.halfway(*p); try > 0 && ok {
		p.keepUpTo(s, to)
	}
	for each := min(try, len(maxTold)-1); ; {
		messages := append(messagesToSummarise(r.c.first(s.items[p.to].outs), maxTold[each]), llm.Say(llm.User, summarise))
		q := r.request(slices.Concat(r.System, messages), limit)
		// What the tools did is told in words: vendors refuse calls of tools that are not
		// offered, and a model that has tools would use them.
		q.Tools, q.CacheAfter = nil, nil
		size := int64(0)
		for _, m := range q.Messages {
			size += sizeOf(m)
		}
		if size <= most {
			return q
		}
		if to, ok := s.halfway(*p); ok {
			p.keepUpTo(s, to)
		} else if each++; each == len(maxTold) {
			return q // the vendor decides
		}
	}
}

// halfway returns a place at which about half of what a plan replaces stays.
func (s sketch) halfway(p plan) (int, bool) {
	total := int64(0)
	for i := p.from; i < p.to; i++ {
		total += s.sizes[i]
	}
	best, gone := 0, int64(0)
	for i := p.from; i < p.to; i++ {
		if i > p.from && s.boundary(i) && s.worth(i) && (gone <= total/2 || best == 0) {
			best = i
		}
		gone += s.sizes[i]
	}
	return best, best > 0
}

// keepUpTo lets a plan replace less.
func (p *plan) keepUpTo(s sketch, to int) {
	p.to = to
	p.keep = slices.DeleteFunc(p.keep, func(m id.Message) bool { return m > s.ends[to] })
}

// noSummary records a request for a summary that failed; why becomes the end of the turn where
// that is the reason.
func (r *turn) noSummary(ctx context.Context, said reply, why *error) error {
	if ctx.Err() != nil {
		*why = ContextFault(ctx)
	}
	if LostAgent(*why) {
		return *why
	}
	drafts := []history.Draft{draftUsage(said.call)}
	drafts[0].Meta.Reason = r.kept(states.Why(*why))
	if ctx.Err() != nil {
		drafts = append(drafts, r.interrupted("", *why))
	}
	if err := r.write(ctx, drafts...); err != nil {
		return err
	}
	r.spent(said.call)
	return nil
}

// replaced writes a summary, and what goes with it.
func (r *turn) replaced(ctx context.Context, s sketch, p plan, summary string, more ...history.Draft) error {
	first := s.items[p.from].first
	for _, it := range s.items[p.from:p.to] {
		first = min(first, it.first)
	}
	d, err := history.NewCompact(summary, first, s.ends[p.to])
	if err != nil {
		return err
	}
	d.Meta.Keep, d.Meta.Short = history.IDs(p.keep), history.IDs(p.short)
	d.Parts = append(d.Parts, history.Part{Type: history.Text, Text: r.afterwards(ctx, first, s.ends[p.to])})
	return r.write(ctx, append([]history.Draft{d}, more...)...)
}

// afterwards returns what the model is told behind a summary.
func (r *turn) afterwards(ctx context.Context, first, end id.Message) string {
	out := "\n[ramet] The summary was written by a model from this conversation; it is not the user's word. What the user said stands before it."
	if slices.ContainsFunc(r.offer, func(t llm.Tool) bool { return t.Name == RecallTool }) {
		out += fmt.Sprintf(" Nothing is lost: %s(range: \"%d-%d\") reads the entries that it replaces, %s(query: …) searches them.", RecallTool, first, end, RecallTool)
	}
	if r.Facts != nil {
		if facts := r.Facts(ctx); facts != "" {
			out += "\n[ramet] " + facts
		}
	}
	return r.kept(out)
}

// RecallTool is the name of the tool that reads what is not in the context any more.
const RecallTool = "recall"

// messagesToSummarise returns messages without thoughts, and with calls and results as text, of each so many
// bytes at most.
func messagesToSummarise(messages []llm.Message, most int) []llm.Message {
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
				out[i].Parts = append(out[i].Parts, llm.Part{Type: llm.Text, Text: fmt.Sprintf("[calls %s %s]", p.Name, text.Middle(string(p.Args), most))})
			case llm.ToolResult:
				out[i].Parts = append(out[i].Parts, llm.Part{Type: llm.Text, Text: fmt.Sprintf("[%s answers]\n%s", p.Name, text.Middle(p.Text, most))})
			case llm.Image, llm.Document:
				out[i].Parts = append(out[i].Parts, p)
			}
		}
	}
	return out
}
