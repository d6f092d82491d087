package decorate

import (
	"context"
	"iter"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// RecordedCall is the record of a call.
type RecordedCall struct {
	Model    llm.Ref
	Request  chain.Hash // of the bytes sent, see llm.Bytes; zero if none were
	Size     int        // of the body
	Attempts int        // how often it was sent
	Started  time.Time
	First    time.Duration // until something of the answer came; 0 if nothing did
	Took     time.Duration
	Usage    llm.Usage
	Cost     llm.Money
	Priced   bool       // false: nobody knows the model's price, and Cost is 0
	Finish   llm.Finish // zero unless it ended well
	Err      error      // why it failed; nil also for Abandoned
	Outcome  string     // a finish reason, a fault code, or Abandoned
}

// Abandoned is the outcome of a call that its consumer broke off.
const Abandoned = "abandoned"

// Recorder keeps records.
type Recorder interface {
	// Record keeps one. It is called once for each call, possibly by several
	// goroutines at a time, and its context outlives the call's.
	Record(context.Context, RecordedCall) error
}

// RecordOptions configure WithRecord.
type RecordOptions struct {
	Vendor   string
	Recorder Recorder
	Price    func(model string) (llm.Price, bool)
	Now      func() time.Time // nil: time.Now
}

type recordProvider struct {
	next llm.Provider
	RecordOptions
}

// WithRecord puts a recorder around a provider.
func WithRecord(next llm.Provider, o RecordOptions) llm.Provider {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &recordProvider{next, o}
}

func (p *recordProvider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		c := RecordedCall{Model: llm.Ref{Vendor: p.Vendor, Name: r.Model}, Started: p.Now(), Outcome: Abandoned}
		for e := range p.next.Stream(ctx, r) {
			p.note(&c, &e)
			if e.Terminal() {
				if err := p.keep(ctx, c); err != nil {
					e = llm.Fail(err)
				}
				yield(e)
				return
			}
			if !yield(e) {
				p.keep(ctx, c) // nobody is left to be told
				return
			}
		}
		c.Err = llm.Cut(nil)
		c.Outcome = string(fault.StreamCut)
		if err := p.keep(ctx, c); err != nil {
			c.Err = err
		}
		yield(llm.Fail(c.Err))
	}
}

func (p *recordProvider) note(c *RecordedCall, e *llm.Event) {
	switch e.Type {
	case llm.Sent:
		c.Request, c.Size = chain.Hash(e.Sent.Hash()), len(e.Sent.Body)
		c.Attempts++
	case llm.Used:
		c.Usage = *e.Usage
	case llm.Finished:
		c.Finish, c.Outcome = e.Finish, string(e.Finish.Reason)
	case llm.Failed:
		c.Err, c.Outcome = e.Err, string(fault.CodeOf(e.Err))
	}
	if e.Content() && c.First == 0 {
		c.First = max(p.Now().Sub(c.Started), 1)
	}
}

func (p *recordProvider) keep(ctx context.Context, c RecordedCall) error {
	c.Took = p.Now().Sub(c.Started)
	if price, ok := p.Price(c.Model.Name); ok || c.Usage.Billed > 0 {
		c.Cost, c.Priced = price.Cost(c.Usage), true
	}
	if err := p.Recorder.Record(context.WithoutCancel(ctx), c); err != nil {
		if _, ok := fault.Of(err); ok {
			return err
		}
		return fault.New(fault.Failed, "record call of %s: %w", c.Model, err)
	}
	return nil
}
