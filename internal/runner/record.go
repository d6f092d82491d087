package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
	"ramet/internal/run"
)

// RecorderOptions configures the recording of calls. Item, Report, Sequence and Vendor must be set.
type RecorderOptions struct {
	Item     Attempt
	Report   func(ctx context.Context, itemID string, r Report) error
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
	if u, err := url.Parse(o.BaseURL); err != nil {
		o.BaseURL = ""
	} else { // user, query and fragment may be secret
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		o.BaseURL = u.String()
	}
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
	return c.Report(ctx, c.Item.ID, Report{ID: c.Item.ID + "/" + c.id + "/" + string(what), Type: what, Payload: b, Evidence: evidence})
}

// CallSequence counts the calls of one attempt of an item, for all agents that work on it.
// The zero Sequence is ready for use.
//
// Each agent counts for itself, in its lane: its calls come one after the other, while
// agents that were forked side by side race. So a call has the same name whenever the
// item is done again, as long as the agents do the same.
type CallSequence struct {
	mu   sync.Mutex
	last map[string]int
	keys []string // of answers that were put into the cache or came from it
}

// next returns the number of the next call in a lane; the first is 1.
func (s *CallSequence) next(lane string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[string]int{}
	}
	s.last[lane]++
	return s.last[lane]
}

func (s *CallSequence) note(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, key)
}

// Keys returns the keys of the attempt's answers that a cache keeps. A caller that finds that they led to nothing
// drops them: the next attempt would get them again.
func (s *CallSequence) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.keys...)
}

// ChildLane names an agent that was forked while an item is done: the lane of its parent, and
// its number among its parent's children, from 1. The item's own agent has lane "".
func ChildLane(parent string, child int) string { return parent + "c" + strconv.Itoa(child) + "-" }

// maxCallName bounds names of calls, which are names of files.
const maxCallName = 160

// MakeCallID names a call: worker.scope.number, and worker.scope.c2-number for the second
// child of the item's agent. What a name of a file should not hold is written ~xx.
func MakeCallID(it Attempt, lane string, number int) string {
	tail := "." + lane + strconv.Itoa(number)
	head := escapeName(it.Worker, "_-") + "." + escapeName(it.Scope, "_-.")
	if len(head)+len(tail) > maxCallName {
		sum := sha256.Sum256([]byte(head))
		head = head[:max(0, maxCallName-len(tail)-17)] + "~" + hex.EncodeToString(sum[:8])
	}
	return head + tail
}

func escapeName(s, also string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(also, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "~%02x", c)
	}
	return b.String()
}

// hashJSON returns the hash of a value's canonical JSON, and that of its text.
func hashJSON(v any) (canonical, text string, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", "", err
	}
	text = chain.Sum(b).String()
	c, err := chain.Canonical(b)
	if err != nil {
		return text, text, nil // a number that no double holds: any JSON can come from a model
	}
	return chain.Sum(c).String(), text, nil
}

// identity holds the hashes of a request.
type identity struct {
	prompt string
	tools  string // empty: there are none
	key    string
}

func (p *provider) identify(r llm.Request) (identity, error) {
	var out identity
	prompt, messages, err := hashJSON(r.Messages)
	if err != nil {
		return out, err
	}
	out.prompt = prompt
	tools := ""
	if len(r.Tools) > 0 {
		if out.tools, tools, err = hashJSON(r.Tools); err != nil {
			return out, err
		}
	}
	about := map[string]any{
		"format": format, "provider": p.BaseURL, "model": p.Vendor + "/" + r.Model, "messages": messages, "tools": tools,
		"max_tokens": r.MaxTokens, "temperature": r.Temperature, "effort": r.Effort,
	}
	// What most requests do not have is left out, so that their answers are found again.
	for name, value := range map[string]any{"schema": string(r.Schema), "no_calls": r.NoCalls, "search": r.Search} {
		if value != "" && value != false {
			about[name] = value
		}
	}
	out.key, _, err = hashJSON(about)
	return out, err
}

// DefaultTemperature returns the temperature that a vendor uses where a request has none.
func DefaultTemperature(vendor string) float64 {
	switch vendor {
	case "offline", "script": // they draw no lots
		return 0
	case "ollama", "llamacpp", "lmstudio":
		return 0.8
	}
	return 1
}

// finish records an answer.
func (c *call) finish(ctx context.Context, f llm.Finish) error {
	message, usage, _, _ := c.whole.Result()
	output, _, err := hashJSON(answerParts(message))
	if err != nil {
		return fault.New(fault.ProviderProtocol, "record model call %s: %w", c.id, err)
	}
	input := usage.Input + usage.CacheRead + usage.CacheWrite
	payload := run.CallEnd{CallID: c.id, LatencyMS: c.latency(), FinishReason: finishReason(f.Reason, message), OutputHash: output,
		Usage: run.Tokens{Input: input, Output: usage.Output, Total: input + usage.Output}, ToolCalls: len(message.Calls())}
	if cost, ok := c.cost(usage); ok {
		dollars := float64(cost) / 1e9
		payload.CostUSD = &dollars
	}
	w := c.newEvidence()
	w.Answer = &recordedAnswer{Parts: answerParts(message), Usage: usage, FinishReason: string(f.Reason), RawReason: f.Raw, OutputHash: output}
	return c.last(ctx, run.LLMCallFinished, payload, w)
}

// cost returns the cost of the call; false: it is not known.
func (c *call) cost(used llm.Usage) (llm.Money, bool) {
	if c.Cost != nil {
		return c.Cost()
	}
	price, ok := c.Price(c.request.Model)
	return price.Cost(used), ok
}

// fail records a call that gave no answer. What was shown of one is in the evidence.
func (c *call) fail(ctx context.Context, why error) error {
	message, usage, _, _ := c.whole.Result()
	code := fault.CodeOf(why)
	words, _ := c.Redact(text.Line(why.Error(), 400))
	payload := run.CallFailure{CallID: c.id, LatencyMS: c.latency(), Class: string(code), Summary: words, Retryable: Retryable(why)}
	if f, ok := errors.AsType[*llm.Failure](why); ok && f.Status >= 100 {
		payload.HTTPStatus = f.Status
	}
	w := c.newEvidence()
	w.Failure = &recordedFailure{Class: string(code), Message: why.Error()}
	if len(message.Parts) > 0 || usage != (llm.Usage{}) {
		w.Answer = &recordedAnswer{Parts: answerParts(message), Usage: usage}
	}
	return c.last(ctx, run.LLMCallFailed, payload, w)
}

// last reports how the call ended, also after its context did.
func (c *call) last(ctx context.Context, what run.Type, payload any, w *evidence) error {
	blob, err := c.file(w)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	return c.report(ctx, what, payload, blob)
}

func (c *call) latency() int64 { return max(0, c.Now().Sub(c.started).Milliseconds()) }

// answerParts of an answer; a list also where there are none.
func answerParts(m llm.Message) []llm.Part {
	if m.Parts == nil {
		return []llm.Part{}
	}
	return m.Parts
}

// finishReason returns one of the four words that the log knows; the evidence has the vendor's.
func finishReason(r llm.Reason, m llm.Message) string {
	switch {
	case r == llm.Stop || r == llm.Length || r == llm.ToolCalls || r == llm.Error:
		return string(r)
	case len(m.Calls()) > 0:
		return string(llm.ToolCalls)
	}
	return string(llm.Stop)
}

// encodePayload writes a payload as the log wants it.
func encodePayload(payload any) ([]byte, error) {
	b, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	return chain.Canonical(b)
}

// evidence is the file that shows what was asked and answered.
type evidence struct {
	CallID   string `json:"call_id"`
	ItemID   string `json:"work_item_id"`
	Attempt  int64  `json:"attempt"`
	Agent    string `json:"agent,omitempty"`
	Provider string `json:"provider"`
	BaseURL  string `json:"provider_base_url"`
	// Redacted is true if the file does not hold what was sent and answered word by word:
	// secrets were replaced.
	Redacted bool   `json:"redacted"`
	Cached   bool   `json:"cached"`
	CacheKey string `json:"cache_key"`
	Sent     int    `json:"times_sent"`
	Bytes    string `json:"sent_sha256,omitempty"` // path, line feed and body as they left
	// Wire holds the fields of the request besides conversation and tools, with the vendor's names.
	Wire map[string]json.RawMessage `json:"sent,omitempty"`

	PromptHash string           `json:"prompt_hash"`
	Request    any              `json:"request"`
	Answer     *recordedAnswer  `json:"answer,omitempty"`
	Failure    *recordedFailure `json:"failure,omitempty"`
}

type recordedAnswer struct {
	Parts        []llm.Part `json:"parts"`
	Usage        llm.Usage  `json:"usage"`
	FinishReason string     `json:"finish_reason,omitempty"`
	RawReason    string     `json:"finish_reason_raw,omitempty"`
	OutputHash   string     `json:"output_hash,omitempty"`
}

type recordedFailure struct {
	Class   string `json:"error_class"`
	Message string `json:"message"`
}

// newEvidence returns the evidence that is known before the answer.
func (c *call) newEvidence() *evidence {
	w := &evidence{CallID: c.id, ItemID: c.Item.ID, Attempt: c.Item.Number, Agent: c.Agent, Provider: c.Vendor, BaseURL: c.BaseURL,
		CacheKey: c.key, Sent: c.times, PromptHash: c.prompt, Request: withoutImages(c.request)}
	if c.times > 0 {
		w.Bytes = chain.Hash(c.sent.Hash()).String()
		w.Wire = bodySettings(c.sent.Body)
	}
	return w
}

// bodySettings returns the members of a body that are not the conversation.
func bodySettings(body []byte) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	if json.Unmarshal(body, &out) != nil {
		return nil // of a model that is built in
	}
	for _, name := range []string{"messages", "system", "input", "contents", "systemInstruction", "tools"} {
		delete(out, name)
	}
	return out
}

// withoutImages returns a request without the bytes of its images, which their hashes replace.
func withoutImages(r llm.Request) llm.Request {
	r.CacheAfter, r.CacheKey, r.CacheHour = nil, "", false
	messages := make([]llm.Message, len(r.Messages))
	for i, m := range r.Messages {
		messages[i] = m
		for j, p := range m.Parts {
			if len(p.Data) == 0 {
				continue
			}
			if &messages[i].Parts[0] == &m.Parts[0] {
				messages[i].Parts = append([]llm.Part(nil), m.Parts...)
			}
			messages[i].Parts[j].Data = nil
			messages[i].Parts[j].Text = "sha256:" + chain.Sum(p.Data).String()
		}
	}
	r.Messages = messages
	return r
}

// file returns the evidence without secrets.
func (c *call) file(w *evidence) (*Blob, error) {
	b, err := json.Marshal(w)
	if err == nil {
		b, w.Redacted, err = c.redact(b)
	}
	if err == nil && w.Redacted { // once more, and it says so
		if b, err = json.Marshal(w); err == nil {
			b, _, err = c.redact(b)
		}
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "write evidence of model call %s: %w", c.id, err)
	}
	return &Blob{Path: run.EvidencePath(c.id, c.Item.Number), Data: append(b, '\n')}, nil
}

// redact replaces secrets in a JSON text: in each of its strings, and where a name and its
// value are next to each other. Texts are looked at one by one, because most of them, the system
// prompt first of all, are the same in every call, and the redactor may cache them.
func (c *call) redact(b []byte) ([]byte, bool, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, false, err
	}
	changed := false
	v = c.walk(v, &changed)
	if !changed {
		return b, false, nil
	}
	b, err := json.Marshal(v)
	return b, true, err
}

func (c *call) walk(v any, changed *bool) any {
	switch v := v.(type) {
	case string:
		clean, found := c.Redact(v)
		*changed = *changed || found
		return clean
	case []any:
		for i := range v {
			v[i] = c.walk(v[i], changed)
		}
	case map[string]any:
		for k := range v {
			v[k] = c.walk(v[k], changed)
			if s, ok := v[k].(string); ok && len(s) <= longestValue && !ours[k] {
				v[k] = c.named(k, s, changed)
			}
		}
	}
	return v
}

// longestValue of a secret that is known by its name alone.
const longestValue = 512

// ours are names of our own whose values are hashes and ids, and no secrets.
var ours = map[string]bool{"cache_key": true, "prompt_hash": true, "output_hash": true, "sent_sha256": true, "call_id": true,
	"work_item_id": true, "agent": true, "id": true, "type": true, "name": true, "description": true, "role": true, "text": true}

// named looks at a value together with its name.
func (c *call) named(name, value string, changed *bool) string {
	before, after := name+`: "`, `"`
	clean, found := c.Redact(before + value + after)
	if !found {
		return value
	}
	*changed = true
	if inner, ok := strings.CutPrefix(clean, before); ok {
		if inner, ok = strings.CutSuffix(inner, after); ok {
			return inner
		}
	}
	return "[redacted]"
}
