package runner

import (
	"context"
	"encoding/json"
	"errors"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
	"ramet/internal/run"
)

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
