package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	states "ramet/internal/core/state"
	"ramet/internal/model/decorate"
	"ramet/internal/model/llm"
)

// roomTries limits how often a request that is too long is sent again, each time shorter.
const roomTries = 8

// reply is a whole answer of the model.
type reply struct {
	message llm.Message
	finish  llm.Finish
	call    decorate.RecordedCall
	counted llm.Usage // what the vendor says that it took
	sent    int64     // bytes of the request, about
	limit   int64     // of the answer, in tokens
}

// step asks the model once and carries out what it calls. It reports whether the
// model is to be asked again.
func (r *turn) step(ctx context.Context) (more bool, err error) {
	said, err := r.answer(ctx)
	if err != nil {
		return false, err
	}
	var parts []history.Part
	var calls []llm.Part
	searched := false
	for _, p := range said.message.Parts {
		p, ok := r.part(p)
		if !ok {
			continue
		}
		parts = append(parts, storedPart(p))
		switch p.Type {
		case llm.ToolCall:
			calls = append(calls, p)
		case llm.Search:
			searched = true
		}
	}
	drafts := r.stated(ctx, calls)
	if len(calls) > 0 && r.Acting != nil {
		release, err := r.Acting(ctx)
		if err != nil {
			return false, r.broken(ctx, said.call, said.message.Text(), err)
		}
		defer release()
	}
	if searched {
		drafts = append(drafts, r.foreign("web search")...)
	}
	if len(parts) > 0 {
		drafts = append(drafts, history.Draft{Kind: history.Assistant, Parts: parts})
	}
	if err := r.write(ctx, append(drafts, draftUsage(said.call))...); err != nil {
		return false, err
	}
	r.spent(said.call)
	if most := r.counted(said.counted, said.sent); most > 0 {
		r.Learnt.learn(most)
		r.narrow = most
		r.emit(Event{Type: Note, Text: fmt.Sprintf("the server of %s reads about %d tokens and cuts what is longer without saying so; from now on room is made before that (`ramet config set context %d` says so beforehand)", r.Ref, most, most)})
	}
	if text := r.kept(said.message.Text()); text != "" || len(calls) == 0 {
		r.out.Text = text
		if r.Schema == nil {
			r.out.Text += llm.Listed(r.pages(said.message.Sources()))
		}
	}
	if said.finish.Reason == llm.Length {
		r.emit(Event{Type: Note, Text: "the answer was cut at the longest that the model may write"})
	}
	if len(calls) == 0 {
		if r.out.Text == "" {
			r.emit(Event{Type: Note, Text: "the model ended its turn without a word"})
		}
		return false, nil
	}
	if err = r.act(ctx, calls, said.finish.Reason == llm.Length); err == nil && !r.out.Ended {
		err = r.join(ctx, calls)
	}
	if err == nil && !r.out.Ended {
		err = r.sayAsides(ctx)
	}
	if err == nil && !r.out.Ended {
		err = r.hear(ctx)
	}
	return err == nil && !r.out.Ended, err
}

// hear writes what the user said meanwhile, behind the results.
func (r *turn) hear(ctx context.Context) error {
	if r.Heard == nil || ctx.Err() != nil {
		return nil
	}
	heard := r.Heard(ctx)
	err := r.write(ctx, heard.Drafts...)
	heard.Written(err)
	return err
}

// answer asks the model, within the budget and the context that it has.
func (r *turn) answer(ctx context.Context) (reply, error) {
	if r.full() {
		err := r.makeRoom(ctx, "the context is nearly full")
		if err == nil {
			err = r.afterCompact(ctx)
		}
		if err != nil && !fault.Is(err, fault.Conflict) {
			return reply{}, err
		}
	}
	for try := 1; ; try++ {
		said, err := r.listen(ctx)
		if err != nil && ctx.Err() == nil && try < roomTries && r.tooMuch(err, said.limit) {
			continue
		}
		if !fault.Is(err, fault.ProviderContext) || ctx.Err() != nil || try == roomTries {
			return said, err
		}
		if r.tooLong(err, said.limit) {
			continue
		}
		if short := r.makeRoom(ctx, "the context is too long for the model"); fault.Is(short, fault.Conflict) {
			return said, err // that it is too long says more
		} else if short != nil {
			return said, short
		}
		if err := r.afterCompact(ctx); err != nil {
			return said, err
		}
	}
}

// cutTries limits how often an answer is asked for that breaks off after its first word.
const cutTries = 4

// listen asks until an answer is whole: one that broke off after its first word, or in which the model
// stumbled, is asked for again, and what was shown of it stays as interrupted. Before the first word, asking again is the
// provider's.
func (r *turn) listen(ctx context.Context) (reply, error) {
	for try := 1; ; try++ {
		said, err := r.ask(ctx)
		why, ok := errors.AsType[*llm.Failure](err)
		if err == nil || ctx.Err() != nil || !ok || !why.Again || said.call.First == 0 && !said.finish.Stumbled() || try == cutTries {
			return said, err
		}
		wait := max(r.Limits.Again<<(try-1), why.After)
		r.emit(Event{Type: Retrying, Attempt: llm.Attempt{Number: try, Of: cutTries, Wait: wait, Err: err}})
		if !llm.Sleep(ctx, wait) {
			return said, ContextFault(ctx)
		}
		r.closed = false // it continues
	}
}

// ask sends the conversation.
func (r *turn) ask(ctx context.Context) (reply, error) {
	limit, err := r.allowed(ctx)
	if err != nil {
		return reply{}, r.refused(ctx, err)
	}
	r.out.Steps++
	if r.Files != nil { // a state is taken while the model is asked
		r.files.taking = r.Files.Take(ctx)
	}
	all := slices.Concat(r.System, r.c.Messages())
	size := r.fixed + r.c.state.size
	q := r.request(all, limit)
	q.CacheHour = r.pauses.ask(time.Now(), r.Paused)
	said, shown, err := r.stream(ctx, q, true)
	r.pauses.answered(time.Now())
	r.sent, said.sent, said.limit = len(all)-len(r.System), size, limit
	if err != nil && shown == "" && ctx.Err() == nil && slices.Contains(vendorDown, fault.CodeOf(err)) && len(r.Others) > 0 {
		if err := r.fallBack(ctx, said.call, err); err != nil {
			return said, err
		}
		return r.ask(ctx)
	}
	if err != nil {
		return said, r.broken(ctx, said.call, shown, err)
	}
	return said, nil
}

// broken records a call that gave no answer, and what was shown of it.
func (r *turn) broken(ctx context.Context, call decorate.RecordedCall, shown string, why error) error {
	if until, ok := ctx.Deadline(); ok && !time.Now().Before(until) {
		<-ctx.Done() // connections have timers of their own for the same deadline, and theirs may be the first
	}
	if ctx.Err() != nil {
		why = ContextFault(ctx)
	}
	if LostAgent(why) {
		return why
	}
	spent := draftUsage(call)
	spent.Meta.Reason = r.kept(states.Why(why))
	drafts := []history.Draft{spent}
	if shown != "" || ctx.Err() != nil {
		drafts = append(drafts, r.interrupted(shown, why))
	}
	if err := r.write(ctx, drafts...); err != nil {
		return err
	}
	r.spent(call)
	return why
}

// request returns what the model is asked: the system's words and all that follows. Up to the end
// of the system's words, of the last request and of this one it will be sent again.
func (r *turn) request(all []llm.Message, limit int64) llm.Request {
	out := llm.Request{Model: r.Ref.Name, Messages: all, Tools: r.offer, Untold: r.untold, MaxTokens: limit, CacheKey: r.Tree, Effort: r.Effort.Or(r.Model.Effort),
		Search: r.Search, NoCalls: r.mending}
	if r.Schema != nil {
		out.Schema = r.Schema.Text()
	}
	head := 0
	for head < len(all) && all[head].Role == llm.System {
		head++
	}
	mark := func(n int) { // behind n messages
		if n > 0 && n <= len(all) && (len(out.CacheAfter) == 0 || out.CacheAfter[len(out.CacheAfter)-1] < n-1) {
			out.CacheAfter = append(out.CacheAfter, n-1)
		}
	}
	mark(head)
	if r.sent > 0 {
		mark(len(r.System) + r.sent)
	}
	mark(len(all))
	return out
}

// stream asks and listens. The text is what was shown, also of an answer that did
// not end; aloud shows it at all.
func (r *turn) stream(ctx context.Context, q llm.Request, aloud bool) (reply, string, error) {
	var keep keeper
	p := decorate.WithRecord(r.Provider, decorate.RecordOptions{Vendor: r.Ref.Vendor, Recorder: &keep, Price: r.price})
	if !r.Limits.Attended && len(r.Others) == 0 { // else another takes over
		ctx = decorate.Patiently(ctx)
	}
	var whole llm.Collector
	seen := shown{clean: r.Clean}
	said, thought := wordwise{turn: r, kind: TextDelta}, wordwise{turn: r, kind: ThinkingDelta}
	var came int64
	for e := range p.Stream(ctx, q) {
		whole.Add(e)
		came += int64(len(e.Text))
		if e.Type != llm.TextDelta {
			said.drop()
		}
		if e.Type != llm.ThinkingDelta {
			thought.drop()
		}
		switch e.Type {
		case llm.TextDelta:
			if aloud {
				if seen.add(e.Text) {
					r.Journal.Streaming(seen.words)
				}
				said.show(e.Text)
			}
		case llm.ThinkingDelta:
			if aloud {
				thought.show(e.Text)
			}
		case llm.Retry:
			r.emit(Event{Type: Retrying, Attempt: e.Retry})
		}
	}
	message, _, finish, err := whole.Result()
	counted := keep.call.Usage
	keep.call = r.uncounted(keep.call, came, err == nil)
	switch {
	case err != nil:
	case finish.Stumbled():
		err = fault.New(fault.ProviderProtocol, "%w", &llm.Failure{Says: fmt.Sprintf("the model made a call that its vendor could not read (%.200s)", finish.Raw), Again: true}).
			WithHint("try again, or ask another model")
	case finish.Reason == llm.Error:
		err = fault.New(fault.ProviderBadRequest, "the model or its vendor refused to continue (%.200s)", finish.Raw).
			WithHint("say it in other words, or ask another model")
	}
	return reply{message: message, finish: finish, call: keep.call, counted: counted}, seen.whole(), err
}

// keeper keeps the record of one call.
type keeper struct{ call decorate.RecordedCall }

// Record implements record.Recorder.
func (k *keeper) Record(_ context.Context, c decorate.RecordedCall) error {
	k.call = c
	return nil
}

// A cache is kept for five minutes by default, and can be kept for an hour, which
// costs more to write and pays for those who are asked again after a longer pause:
// parents that wait for their children, conversations that people come back to.
const (
	shortCache = 5 * time.Minute
	longCache  = time.Hour
)

// pauses notices that an agent is one of those: between two requests more time
// went by than the short cache lasts, and less than the long one.
type pauses struct {
	last time.Time // when the last answer was whole
	long bool
}

// ask tells of a request, and answers whether what it marks should be kept for
// an hour. before is how long the agent did nothing before its turn.
func (p *pauses) ask(now time.Time, before time.Duration) bool {
	gap := before
	if !p.last.IsZero() {
		gap = now.Sub(p.last)
	}
	p.long = p.long || gap > shortCache && gap <= longCache
	return p.long
}

func (p *pauses) answered(now time.Time) { p.last = now }

// vendorDown lists the faults of a vendor that cannot answer now, whatever it is asked: it was not
// reached, failed on its side, or takes no more requests.
var vendorDown = []fault.Code{fault.ProviderUnreachable, fault.ProviderOverloaded, fault.ProviderRateLimit, fault.StreamCut}

// fallBack lets the next model go on until the turn ends; the history says so, and
// has the call that failed.
func (r *turn) fallBack(ctx context.Context, failed decorate.RecordedCall, why error) error {
	next := r.Others[0]
	told := fmt.Sprintf("%s does not answer (%s); %s answers in its place until the turn ends", r.Ref, fault.CodeOf(why), next.Ref)
	spent := draftUsage(failed)
	spent.Meta.Reason = r.kept(states.Why(why))
	note := history.Draft{Kind: history.Note, Meta: history.Meta{Reason: spent.Meta.Reason}, Parts: []history.Part{{Type: history.Text, Text: told}}}
	if err := r.write(ctx, spent, note); err != nil {
		return err
	}
	r.spent(failed)
	r.emit(Event{Type: Note, Text: told})
	r.Ref, r.Model, r.Provider, r.Learnt, r.Others = next.Ref, next.Model, next.Provider, next.Learnt, r.Others[1:]
	r.sent, r.narrow, r.brief, r.meter = 0, 0, 0, meter{}
	return nil
}
