package decorate

import (
	"context"
	"fmt"
	"hash/crc32"
	"iter"
	"slices"
	"sync"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// Queue is the limits that calls share.
type Queue struct {
	mu      sync.Mutex
	all     int            // 0: any number
	each    map[string]int // by vendor; none: any number
	running int
	at      map[string]int
	waiting []*place
}

// place is the place of a waiting call.
type place struct {
	vendor string
	in     chan struct{} // closed when it may run
}

// WithQueue makes a queue: so many calls at a time in all, and so many at vendors; 0 and absent are any
// number.
func WithQueue(all int, each map[string]int) *Queue {
	return &Queue{all: all, each: each, at: map[string]int{}}
}

// At puts a vendor's calls into the queue.
func (q *Queue) At(vendor string, next llm.Provider) llm.Provider {
	return llm.Func(func(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
		return func(yield func(llm.Event) bool) {
			if err := q.enter(ctx, vendor); err != nil {
				yield(llm.Fail(err))
				return
			}
			defer q.leave(vendor)
			next.Stream(ctx, r)(yield)
		}
	})
}

func (q *Queue) enter(ctx context.Context, vendor string) error {
	if ctx.Err() != nil {
		return llm.Ended(ctx)
	}
	q.mu.Lock()
	p := &place{vendor, make(chan struct{})}
	q.waiting = append(q.waiting, p)
	q.admit()
	q.mu.Unlock()
	select {
	case <-p.in:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, p); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	} else { // it was let in meanwhile
		q.out(vendor)
	}
	return llm.Ended(ctx)
}

func (q *Queue) leave(vendor string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.out(vendor)
}

func (q *Queue) out(vendor string) {
	q.running--
	q.at[vendor]--
	q.admit()
}

// admit lets in who may run, oldest first; the caller has the mutex.
func (q *Queue) admit() {
	q.waiting = slices.DeleteFunc(q.waiting, func(p *place) bool {
		most, limited := q.each[p.vendor]
		if q.all > 0 && q.running >= q.all || limited && q.at[p.vendor] >= most {
			return false
		}
		q.running++
		q.at[p.vendor]++
		close(p.in)
		return true
	})
}

// structuredKey names a refused schema: by which model, with tools or without.
type structuredKey struct {
	model  string
	schema chain.Hash
	tools  bool
}

// WithStructured asks again without a schema that was refused.
func WithStructured(next llm.Provider) llm.Provider {
	var refused sync.Map // a structuredKey each
	return llm.Func(func(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
		if len(r.Schema) == 0 {
			return next.Stream(ctx, r)
		}
		return func(yield func(llm.Event) bool) {
			plain := r
			plain.Schema = nil
			k := structuredKey{r.Model, chain.Sum(r.Schema), len(r.Tools) > 0}
			if _, known := refused.Load(k); !known {
				// The refusal of a request without the schema will say why.
				if _, over := llm.PassOn(next.Stream(ctx, r), isBadRequest, yield); over {
					return
				}
			}
			if last, _ := llm.PassOn(next.Stream(ctx, plain), func(error) bool { return false }, yield); last.Type == llm.Finished {
				refused.Store(k, true) // it was the schema
			}
		}
	})
}

func isBadRequest(err error) bool { return fault.Is(err, fault.ProviderBadRequest) }

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
	Priced   bool       // false: the model's price is unknown, and Cost is 0
	Finish   llm.Finish // zero unless it ended well
	Err      error      // why it failed; nil also for Abandoned
	Outcome  string     // a finish reason, a fault code, or Abandoned

	sent *llm.Bytes // the last attempt, until it is hashed
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
				p.keep(ctx, c) // no reader is left
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
		sent := e.Sent
		c.sent, c.Size = &sent, len(sent.Body)
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
	if c.sent != nil { // only now: the hash of a long request takes milliseconds
		c.Request, c.sent = chain.Hash(c.sent.Hash()), nil
	}
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

// sightProvider is the decorator.
type sightProvider struct {
	next  llm.Provider
	model func(string) llm.Model

	taken sync.Map // by mark: whether the vendor takes it, where that is known
}

// mark tells one image or document from another, cheaply.
type mark struct {
	model string
	size  int
	ends  uint32
}

// WithSight puts it around an adapter.
func WithSight(next llm.Provider, model func(string) llm.Model) llm.Provider {
	return &sightProvider{next: next, model: model}
}

// Stream implements llm.Provider.
func (p *sightProvider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	all := streamMarks(r)
	if len(all) == 0 {
		return p.next.Stream(ctx, r)
	}
	known := p.model(r.Model)
	return func(yield func(llm.Event) bool) {
		shown := p.without(r, func(part llm.Part) string {
			switch {
			case part.Type == llm.Image && known.Known && !known.Images:
				return "which the model that you are cannot see"
			case part.Type == llm.Document && !known.PDF:
				return "which the model that you are cannot read"
			case p.refused(markOf(r.Model, part)):
				return "which your vendor did not take"
			}
			return ""
		})
		refusal, over := p.attempt(ctx, shown, yield)
		if over {
			return
		}
		doubtful := p.doubtful(streamMarks(shown))
		if len(doubtful) == 0 {
			yield(refusal)
			return
		}
		again := p.without(shown, func(part llm.Part) string {
			if slices.Contains(doubtful, markOf(r.Model, part)) {
				return "which your vendor did not take"
			}
			return ""
		})
		second, over := p.attempt(ctx, again, yield)
		if !over {
			yield(refusal) // it was not because of these
			return
		}
		if second.Type == llm.Finished {
			p.remember(doubtful, false)
		}
	}
}

// attempt passes on one attempt. A refusal of the request is held back.
func (p *sightProvider) attempt(ctx context.Context, r llm.Request, yield func(llm.Event) bool) (last llm.Event, over bool) {
	last, over = llm.PassOn(p.next.Stream(ctx, r), isBadRequest, yield)
	if last.Type == llm.Finished {
		p.remember(streamMarks(r), true)
	}
	return last, over
}

// without returns a request with sentences instead of what why names a reason for.
func (p *sightProvider) without(r llm.Request, why func(llm.Part) string) llm.Request {
	r.Messages = slices.Clone(r.Messages)
	for i, m := range r.Messages {
		copied := false
		for j, part := range m.Parts {
			if part.Type != llm.Image && part.Type != llm.Document {
				continue
			}
			reason := why(part)
			if reason == "" {
				continue
			}
			if !copied {
				r.Messages[i].Parts, copied = slices.Clone(m.Parts), true
			}
			r.Messages[i].Parts[j] = llm.Part{Type: llm.Text, Text: fmt.Sprintf("[%s of %d bytes, %s]", pictureName(part), len(part.Data), reason)}
		}
	}
	return r
}

func pictureName(p llm.Part) string {
	if p.Name == "" {
		return p.MediaType
	}
	return p.Name + ", " + p.MediaType
}

func streamMarks(r llm.Request) (out []mark) {
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if p.Type == llm.Image || p.Type == llm.Document {
				out = append(out, markOf(r.Model, p))
			}
		}
	}
	return out
}

func markOf(model string, p llm.Part) mark {
	const some = 4 << 10
	sum := crc32.ChecksumIEEE(p.Data[:min(some, len(p.Data))])
	return mark{model, len(p.Data), crc32.Update(sum, crc32.IEEETable, p.Data[max(0, len(p.Data)-some):])}
}

func (p *sightProvider) refused(m mark) bool {
	taken, known := p.taken.Load(m)
	return known && taken == false
}

// doubtful returns those that the vendor has never taken.
func (p *sightProvider) doubtful(all []mark) (out []mark) {
	for _, m := range all {
		if taken, _ := p.taken.Load(m); taken != true {
			out = append(out, m)
		}
	}
	return out
}

func (p *sightProvider) remember(all []mark, taken bool) {
	for _, m := range all {
		p.taken.Store(m, taken)
	}
}
