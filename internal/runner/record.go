package runner

import (
	"context"
	"iter"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/run"
)

// CallReporter is the part of runner.Orchestrator that is needed here.
type CallReporter interface {
	Report(ctx context.Context, itemID string, r Report) error
}

// RecorderOptions configures the recording of calls. Item, Orchestrator, Sequence and Vendor must be set.
type RecorderOptions struct {
	Item     Attempt
	Reporter CallReporter
	Sequence *CallSequence
	Lane     string // of the agent, see Lane
	Agent    string // the asking agent, for the evidence
	Vendor   string
	BaseURL  string // of the vendor; names and passwords in it are left out
	// MaxTokens limits answers where the request has no limit.
	MaxTokens int64
	Cache     AnswerCache // nil: none
	// Redact replaces secrets in a text and reports whether there were any. nil: there are
	// none.
	Redact func(string) (string, bool)
	// Price of the vendor's models; nil: all are unknown.
	Price func(model string) (llm.Price, bool)
	// Cost returns the cost of a finished call if it is known other than by a price; nil if it isn't.
	Cost func() (llm.Money, bool)
	Now  func() time.Time // nil: time.Now
}

// recordTime limits how long the end of a call may take to be recorded after its context
// ended.
const recordTime = 30 * time.Second

// usualAnswer replaces an unknown limit of answers; requests of agents always have one.
const usualAnswer = 32_000

type provider struct {
	next llm.Provider
	RecorderOptions
}

// NewRecorder returns a provider that records the calls of another.
func NewRecorder(next llm.Provider, o RecorderOptions) llm.Provider {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Redact == nil {
		o.Redact = func(s string) (string, bool) { return s, false }
	}
	if o.Price == nil {
		o.Price = func(string) (llm.Price, bool) { return llm.Price{}, false }
	}
	if o.MaxTokens < 1 {
		o.MaxTokens = usualAnswer
	}
	o.BaseURL = bareAddress(o.BaseURL)
	return &provider{next, o}
}

// Stream asks the model, or the cache, and records it.
func (p *provider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		if ctx.Err() != nil { // nothing happens, and so there is nothing to record
			yield(llm.Fail(llm.Ended(ctx)))
			return
		}
		c := &call{provider: p, request: r}
		var err error
		if c.identity, err = p.identify(r); err != nil {
			yield(llm.Fail(fault.New(fault.ProviderBadRequest, "ask model: encode the request: %w", err)))
			return
		}
		kept, ok, err := c.recall()
		if err != nil {
			yield(llm.Fail(err))
			return
		}
		if ok {
			c.replay(ctx, kept, yield)
			return
		}
		if err := c.begin(ctx); err != nil {
			yield(llm.Fail(err))
			return
		}
		c.pass(ctx, yield)
	}
}

// call is one call under way.
type call struct {
	*provider
	request llm.Request
	identity
	id      string
	started time.Time

	events []llm.Event // for the cache
	whole  llm.Collector
	sent   llm.Bytes
	times  int // how often it was sent
}

// begin reports the call, which must be done before anything leaves.
func (c *call) begin(ctx context.Context) error {
	c.name()
	temperature := DefaultTemperature(c.Vendor)
	if t := c.request.Temperature; t != nil {
		temperature = *t
	}
	most := c.request.MaxTokens
	if most < 1 {
		most = c.MaxTokens
	}
	return c.report(ctx, run.LLMCallStarted, run.CallStart{CallID: c.id, Model: c.request.Model, BaseURL: c.BaseURL, Vendor: c.Vendor, PromptHash: c.prompt,
		Temperature: temperature, MaxTokens: most, ToolSchemaHash: c.tools}, nil)
}

func (c *call) name() {
	c.id = MakeCallID(c.Item, c.Lane, c.Sequence.next(c.Lane))
	c.started = c.Now()
}

// pass hands on the model's events, and records how the call ended.
func (c *call) pass(ctx context.Context, yield func(llm.Event) bool) {
	over := false
	defer func() {
		if !over { // the consumer broke off, or something broke
			c.fail(ctx, fault.New(fault.Cancelled, "ask model: the caller did not wait for the end"))
		}
	}()
	for e := range c.next.Stream(ctx, c.request) {
		c.note(e)
		if !e.Terminal() {
			if !yield(e) {
				return
			}
			continue
		}
		over = true
		yield(c.end(ctx, e))
		return
	}
	over = true
	yield(c.end(ctx, llm.Fail(llm.Cut(nil))))
}

func (c *call) note(e llm.Event) {
	c.whole.Add(e)
	switch {
	case e.Type == llm.Sent:
		c.sent = e.Sent
		c.times++
	case e.Type != llm.Retry && c.Cache != nil:
		c.events = append(c.events, e)
	}
}

// end records the terminal event and returns the one to be passed on.
func (c *call) end(ctx context.Context, e llm.Event) llm.Event {
	if e.Type == llm.Failed {
		if err := c.fail(ctx, e.Err); err != nil {
			return llm.Fail(err)
		}
		return e
	}
	keeping := c.keep()
	if err := c.finish(ctx, e.Finish); err != nil {
		return llm.Fail(err)
	}
	if keeping != nil {
		return llm.Fail(keeping)
	}
	return e
}

// report writes an event of the call. Its id is the same whenever the same is reported.
func (c *call) report(ctx context.Context, what run.Type, payload any, evidence *Blob) error {
	b, err := encodePayload(payload)
	if err != nil {
		return fault.New(fault.InvalidEvent, "record model call %s: %w", c.id, err)
	}
	return c.Reporter.Report(ctx, c.Item.ID, Report{ID: c.Item.ID + "/" + c.id + "/" + string(what), Type: what, Payload: b, Evidence: evidence})
}

// path of the evidence.
func (c *call) path() string {
	return run.EvidencePath(c.id, c.Item.Number)
}
