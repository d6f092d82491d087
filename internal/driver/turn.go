package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
	"ramet/internal/driver/gateway"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// Driven carries out turns of agents that a program drives.
type Driven struct {
	Program Program
	Model   string // that the program is to use; empty: its own choice
	Pool    *Pool
	Log     history.Viewer
	// Root is the folder in which an agent works.
	Root func(agent.Agent) (string, error)
	// Offered is told what the program offers, when that may have changed; nil: nobody is.
	Offered func(Offer)
}

// turn is a turn under way.
type turn struct {
	loop.Turn
	c     *loop.Conversation
	about About
	root  string
	stop  context.CancelCauseFunc // ends the turn
	began time.Time

	shown shown // what was said and is not written

	mu      sync.Mutex // guards what follows, and the order of entries and events
	parts   []*spoken  // in order
	held    int        // bytes of parts
	calls   []*call
	sources []string // of the foreign content that the history says it took in
	plan    []Step   // as the program told it last
	planned []Step   // the one that was written last
	plans   int      // that were written
	odd     int
	out     loop.Outcome
	used    llm.Usage
	cost    llm.Money
	before  gateway.Total // what went over the wire before the turn
	mark    id.Message    // the newest entry of the session
	acting  func()        // lets forks pass; nil: they do
	files   stating
	failed  error // why nothing can be written any more
	closed  bool  // the turn is over: what comes late is not of it

	asking sync.WaitGroup
}

// Run carries out one turn: what waits in the agent's context is said to its program. It
// returns when the program has answered, or when ctx ends; then nothing of it is alive.
func (d *Driven) Run(ctx context.Context, a agent.Agent, t loop.Turn, c *loop.Conversation) (loop.Outcome, error) {
	if t.Clean == nil {
		t.Clean = func(s string) string { return s }
	}
	root, err := d.Root(a)
	if err != nil {
		return loop.Outcome{}, err
	}
	if err := t.Budget.Left(ctx); err != nil {
		return loop.Outcome{}, err
	}
	s, what, err := d.open(ctx, a)
	if err != nil {
		return loop.Outcome{}, d.unopened(ctx, t, c, err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &turn{Turn: t, c: c, about: s.session.About(), root: root, stop: stop, began: time.Now()}
	if err := r.begin(ctx, s.from, s.rendered); err != nil {
		d.Pool.drop(a.ID)
		s.session.End()
		return loop.Outcome{}, err
	}
	r.out.Steps = 1
	if r.about.Wire != nil {
		r.before = r.about.Wire(ctx)
	}
	answer, err := r.prompt(ctx, s.session, what)
	err = r.end(ctx, answer, err)
	d.offered(s.session)
	if err == nil && r.alive(s.session) {
		d.Pool.put(a.ID, s.session, r.mark)
		return r.out, nil
	}
	d.Pool.drop(a.ID)
	s.session.End()
	return r.out, err
}

func (d *Driven) offered(s Session) {
	if d.Offered != nil {
		d.Offered(s.Offer())
	}
}

func (r *turn) alive(s Session) bool {
	select {
	case <-s.Ended():
		return false
	default:
		return true
	}
}

// opened is a session that was found or begun.
type opened struct {
	session  Session
	from     string // that it was forked from
	rendered bool
}

// open finds the session of an agent, and what is to be said to it.
func (d *Driven) open(ctx context.Context, a agent.Agent) (out opened, what []llm.Part, err error) {
	var at stand
	var wish Wish
	look := func(log history.Log) (err error) {
		if wish, err = d.wish(ctx, log, a.ID); err != nil {
			return err
		}
		at, err = find(ctx, log, a.ID, d.Program.Name())
		return err
	}
	if err := d.Log.View(ctx, look); err != nil {
		return out, nil, err
	}
	if out.session = d.Pool.take(ctx, a.ID, at.Resume, at.mark, wish); out.session == nil {
		out.session, err = d.Program.Open(ctx, a, wish, at.Place)
		out.from = at.Fork
		if fault.Is(err, fault.NotFound) && at.Place != (Place{}) {
			at.Place, out.from = Place{}, "" // it has forgotten: from the history then
			out.session, err = d.Program.Open(ctx, a, wish, at.Place)
		}
		if err != nil {
			return out, nil, err
		}
	}
	d.Pool.use(a.ID, out.session)
	d.offered(out.session)
	story := ""
	err = d.Log.View(ctx, func(log history.Log) (err error) {
		if at.Place == (Place{}) { // who goes on with a session was there
			if story, err = rendering(ctx, log, a.ID, at.unheard); err != nil {
				return err
			}
		}
		what, err = words(ctx, log, out.session.About(), at.unheard)
		return err
	})
	if err != nil {
		d.Pool.drop(a.ID)
		out.session.End()
		return out, nil, err
	}
	switch {
	case story != "":
		out.rendered = true
		what = append([]llm.Part{{Type: llm.Text, Text: story}}, what...)
	case at.cut && at.Resume != "":
		what = append([]llm.Part{{Type: llm.Text, Text: "[ramet] Your last turn was interrupted; what you began then may be half done."}}, what...)
	}
	if len(what) == 0 {
		what = []llm.Part{{Type: llm.Text, Text: "Go on."}}
	}
	return out, what, nil
}

// unopened tells in the history that no program could be started: the prompt stands there
// already.
func (d *Driven) unopened(ctx context.Context, t loop.Turn, c *loop.Conversation, why error) error {
	r := &turn{Turn: t, c: c}
	if ctx.Err() != nil {
		why = llm.Ended(ctx)
	}
	kind := history.Note
	if ctx.Err() != nil {
		kind = history.Interrupted
	}
	draft := history.Draft{Kind: kind, Meta: history.Meta{Reason: state.Why(why)}}
	if kind == history.Note {
		draft.Parts = []history.Part{{Type: history.Text, Text: r.kept(why.Error())}}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.write(ctx, draft); err != nil {
		return errors.Join(why, err)
	}
	return why
}

// begin writes that everything so far is about to be in the session.
func (r *turn) begin(ctx context.Context, from string, rendered bool) error {
	m := r.about.meta()
	m.Command, m.Driver.From, m.Driver.Rendered = history.DriverCommand, from, rendered
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files.look(ctx, r.Turn)
	return r.write(ctx, history.Draft{Kind: history.Command, Meta: m})
}

// prompt asks the program and climbs down the ladder when ctx ends.
func (r *turn) prompt(ctx context.Context, s Session, what []llm.Part) (answer Stop, err error) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		answer, err = s.Prompt(ctx, what, func(u Update) { r.take(ctx, u) })
	}()
	tick := time.NewTicker(settleTime)
	defer tick.Stop()
	for {
		select {
		case <-over:
		case <-tick.C:
			r.settleCalls(ctx)
			continue
		case <-ctx.Done():
			if !ends(context.WithoutCancel(ctx), over, patience) {
				s.End()
			}
			<-over
		}
		r.asking.Wait()
		return answer, err
	}
}

// end closes the turn in the history.
func (r *turn) end(ctx context.Context, answer Stop, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.failed != nil {
		r.leave()
		return r.failed
	}
	stopped := ctx.Err() != nil
	why := err
	switch {
	case stopped:
		why = loop.ContextFault(ctx)
	case why != nil && r.wired(ctx).Refused > 0:
		why = fault.New(fault.BudgetExceeded, "%s was refused a call of its model: %w", r.about.Driver, err).WithHint("give more with --max-cost or --max-tokens, or stop here")
	}
	if loop.LostAgent(why) { // who took the agent closes its history
		r.leave()
		return why
	}
	shownNow := r.shown.take()
	r.speak(ctx, why != nil)
	r.closeCalls(ctx, why)
	r.usage(ctx, answer, why)
	if why != nil {
		r.interrupted(ctx, shownNow, why)
	}
	r.files.last(ctx, r)
	r.leave()
	if r.failed != nil {
		return r.failed
	}
	if why == nil && answer.Reason == "refusal" {
		return fault.New(fault.ProviderBadRequest, "%s refused to continue", r.about.Driver).WithHint("say it in other words, or ask another")
	}
	return why
}

// leave lets go of what the turn holds.
func (r *turn) leave() {
	for _, c := range r.calls {
		if c.end != nil {
			c.end()
			c.end = nil
		}
	}
	r.release()
}

// interrupted writes that the turn did not end well.
func (r *turn) interrupted(ctx context.Context, words string, why error) {
	m := r.about.meta()
	m.Reason = r.kept(state.Why(why))
	var by loop.StoppedBy
	if errors.As(why, &by) {
		m.Actor = by.By
	}
	d := history.Draft{Kind: history.Interrupted, Meta: m}
	if words = r.kept(words); words != "" {
		d.Parts = []history.Part{{Type: history.Text, Text: words}}
	}
	r.fail(r.write(ctx, d))
}

// write appends entries, takes them into the conversation and tells of them. It is finished
// even when ctx has ended. The caller has the mutex.
func (r *turn) write(ctx context.Context, drafts ...history.Draft) error {
	if len(drafts) == 0 {
		return nil
	}
	ctx, cancel := loop.ExtendContext(ctx)
	defer cancel()
	entries, err := r.Journal.Append(ctx, drafts...)
	if err != nil {
		return err
	}
	if _, err := r.c.Add(ctx, entries...); err != nil {
		return err
	}
	for i := range entries {
		if m, err := entries[i].Decode(); err == nil && m.Driver != nil {
			r.mark = entries[i].ID
		}
		r.Emit(loop.Event{Type: loop.Recorded, Agent: r.Agent, Entry: &entries[i]})
	}
	return nil
}

// fail notes that nothing can be written, and ends the turn.
func (r *turn) fail(err error) bool {
	if err == nil {
		return r.failed != nil
	}
	if r.failed == nil {
		r.failed = err
		r.stop(err)
	}
	return true
}

func (r *turn) kept(s string) string { return text.Storable(r.Clean(s)) }

// usage writes what the turn used, and that it ended. What went over the wire counts; what the
// program reported does where nothing went there.
func (r *turn) usage(ctx context.Context, answer Stop, why error) {
	if answer.Usage.Total() > 0 {
		r.used = answer.Usage
	}
	if answer.Cost > 0 {
		r.cost = answer.Cost
	}
	wire := r.wired(ctx)
	m := r.about.meta()
	m.Driver.Used = used(r.used, r.cost)
	call := &history.Call{Model: Ref(r.about.Driver, "").String(), Outcome: answer.outcome(), Attempts: 1, TookMS: time.Since(r.began).Milliseconds()}
	if wire.Calls > 0 {
		m.Driver.Wire, m.Driver.Attested = used(wire.Usage, wire.Cost), history.Wire
		call.Priced = true // its cost is in the entries of its calls
		r.out.Usage, r.out.Cost = wire.Usage, wire.Cost
	} else {
		call.Input, call.Output, call.CacheRead, call.CacheWrite, call.Reasoning = r.used.Input, r.used.Output, r.used.CacheRead, r.used.CacheWrite, r.used.Reasoning
		call.Cost, call.Priced = int64(r.cost), r.cost > 0
		r.out.Usage, r.out.Cost = r.used, r.cost
	}
	if why != nil {
		m.Reason = state.Why(why)
		call.Outcome = string(fault.CodeOf(why))
	}
	m.Call = call
	drafts := append(r.mismatch(wire), history.Draft{Kind: history.Usage, Meta: m})
	if r.fail(r.write(ctx, drafts...)) {
		return
	}
	r.Emit(loop.Event{Type: loop.Spent, Agent: r.Agent, Usage: r.out.Usage, Cost: r.out.Cost})
}

// wired returns the calls that went over the wire in this turn.
func (r *turn) wired(ctx context.Context) gateway.Total {
	if r.about.Wire == nil {
		return gateway.Total{}
	}
	return r.about.Wire(context.WithoutCancel(ctx)).Since(r.before)
}

// mismatch returns a note if the program reported something else than what went over the wire. What
// it does not report at all, and what was cut before it was counted, is none.
func (r *turn) mismatch(wire gateway.Total) []history.Draft {
	said, counted := r.used.Total(), wire.Usage.Total()
	if wire.Calls == 0 || wire.Uncounted > 0 || said == 0 || said == counted {
		return nil
	}
	m := r.about.meta()
	m.Command = history.MismatchCommand
	m.Driver.Used, m.Driver.Wire = used(r.used, r.cost), used(wire.Usage, wire.Cost)
	text := fmt.Sprintf("mismatch: %s reported %d tokens, and %d went over the wire", r.about.Driver, said, counted)
	return []history.Draft{{Kind: history.Note, Meta: m, Parts: []history.Part{{Type: history.Text, Text: text}}}}
}

func used(u llm.Usage, cost llm.Money) *history.Used {
	return &history.Used{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning, Cost: int64(cost)}
}

const (
	mostRendered  = 48 << 10 // bytes of a rendering
	mostOfMessage = 4 << 10  // bytes of one message in it
	mostMessages  = 400      // that are looked at
)

// rendering returns the context of an agent in words, for a program that was not there: its newest
// messages before those that are about to be said. Empty: there is nothing to tell.
func rendering(ctx context.Context, log history.Log, a id.Agent, unheard []history.Entry) (string, error) {
	said := map[id.Message]bool{}
	for _, e := range unheard {
		said[e.ID] = true
	}
	tail, err := history.Tail(ctx, log, a, mostMessages)
	if err != nil {
		return "", err
	}
	var lines []string // newest first
	size, left := 0, 0
	for i := len(tail) - 1; i >= 0; i-- {
		e := tail[i]
		if said[e.ID] {
			continue
		}
		line, err := rendered(ctx, log, e)
		if err != nil {
			return "", err
		}
		if line == "" {
			continue
		}
		if size+len(line) > mostRendered {
			left = i + 1
			break
		}
		lines, size = append(lines, line), size+len(line)
	}
	if len(lines) == 0 {
		return "", nil
	}
	var b strings.Builder
	b.WriteString("[ramet] You take over a conversation that you were not part of. What follows, up to the end mark, is a rendering of it in words: shortened, and no memory of yours. Files are as that work left them.\n\n<conversation>\n")
	if left > 0 || len(tail) == mostMessages {
		b.WriteString("(what came before is left out)\n")
	}
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString(lines[i])
		b.WriteByte('\n')
	}
	b.WriteString("</conversation>\n\n[ramet] This is what you are asked now:\n")
	return b.String(), nil
}

// rendered returns one message in words.
func rendered(ctx context.Context, log history.Log, e history.Entry) (string, error) {
	parts, err := e.Parts()
	if err != nil {
		return "", err
	}
	if err := history.Fill(parts, func(h chain.Hash) ([]byte, error) { return log.Blob(ctx, h) }); err != nil {
		return "", err
	}
	var words []string
	for _, p := range parts {
		switch p.Type {
		case history.Text:
			words = append(words, p.Text)
		case history.ToolCall:
			words = append(words, fmt.Sprintf("[calls %s %s]", p.Name, p.Args))
		case history.Result:
			how := "answers"
			if p.IsError {
				how = "fails"
			}
			words = append(words, fmt.Sprintf("[%s %s: %s]", p.Name, how, p.Text))
		case history.Image, history.Document:
			words = append(words, p.About())
		}
	}
	said := strings.TrimSpace(strings.Join(words, "\n"))
	if said == "" {
		return "", nil
	}
	who := map[history.Kind]string{history.User: "user", history.Assistant: "assistant", history.ToolResult: "tool", history.System: "system",
		history.Notice: "ramet", history.Compact: "summary"}[e.Kind]
	who = cmp.Or(who, string(e.Kind))
	return who + ": " + text.Middle(said, mostOfMessage), nil
}

// words returns the parts of what is said to the program. /NAME:COMMAND is its own /COMMAND.
func words(ctx context.Context, log history.Log, about About, entries []history.Entry) ([]llm.Part, error) {
	var out []llm.Part
	for _, e := range entries {
		parts, err := e.Parts()
		if err != nil {
			return nil, err
		}
		if err := history.Fill(parts, func(h chain.Hash) ([]byte, error) { return log.Blob(ctx, h) }); err != nil {
			return nil, err
		}
		for _, p := range parts {
			switch {
			case p.Type == history.Text && p.Text != "":
				said := p.Text
				if own, ok := strings.CutPrefix(said, "/"+about.Driver+":"); ok && e.Kind == history.User {
					said = "/" + own
				}
				out = append(out, llm.Part{Type: llm.Text, Text: said})
			case p.Type == history.Image && about.Images:
				out = append(out, llm.Part{Type: llm.Image, MediaType: p.MediaType, Data: p.Data, Name: p.Name})
			case p.Type == history.Image, p.Type == history.Document:
				out = append(out, llm.Part{Type: llm.Text, Text: p.About() + " (the program accepts no such files)"})
			}
		}
	}
	return out, nil
}
