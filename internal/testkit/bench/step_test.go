package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/shape"
	"ramet/internal/core/agent"
	"ramet/internal/kernel"
	"ramet/internal/model/dial"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// pacer is a vendor without a network that calls a tool in each answer, and measures what lies
// between the end of an answer and the next request: everything that a step costs us, the
// encoding of the request included.
type pacer struct {
	mu    sync.Mutex
	calls int // that it still makes
	ended time.Time
	took  times
}

// RoundTrip implements http.RoundTripper.
func (p *pacer) RoundTrip(r *http.Request) (*http.Response, error) {
	now := time.Now()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended.IsZero() {
		p.took = append(p.took, now.Sub(p.ended))
	}
	delta, finish := `{"content":"All of it is done."}`, "stop"
	if p.calls--; p.calls > 0 {
		delta, finish = fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"c%d","type":"function","function":{"name":"look","arguments":"{\"n\":%d}"}}]}`, p.calls, p.calls), "tool_calls"
	}
	text := fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%q}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":40000,\"completion_tokens\":20}}\n\ndata: [DONE]\n\n", delta, finish)
	p.ended = time.Now()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// look is a tool that answers at once.
type look struct{}

func (look) Spec() tool.Spec {
	return tool.Spec{Name: "look", Description: "Looks.", Access: tool.Reads, Args: shape.Object(shape.May("n", shape.Integer(0)))}
}

func (look) Run(context.Context, tool.Call) (tool.Answer, error) {
	return tool.Answer{Text: "nothing new"}, nil
}

// Our own time of a step, from the end of an answer to the next request, in a conversation of
// 1,000 messages.
func BenchmarkStep(b *testing.B) {
	s, _ := engines[0].make(b)
	p := &pacer{}
	vendor, err := dial.Model(llm.Ref{Vendor: "vllm", Name: "m"}, dial.Options{HTTP: p, Access: dial.Access{Base: "http://127.0.0.1:1/v1"}})
	check(b, err)
	o := ports(s, vendor)
	o.Model = func(agent.Agent, llm.Ref) (kernel.Model, error) {
		return kernel.Model{Ref: llm.Ref{Vendor: "vllm", Name: "m"}, Info: llm.Model{Name: "m", Context: 1_000_000}, Provider: vendor}, nil
	}
	o.Tools = func(agent.Agent) (tool.Box, error) { return tool.Box{look{}}, nil }
	k := start(b, o)
	const steps = 50
	for b.Loop() {
		a := child(b, s)
		discuss(b, s, a, 1000)
		p.mu.Lock()
		p.calls, p.ended = steps, time.Time{}
		p.mu.Unlock()
		turn(b, k, a, "Go on.")
	}
	atMost(b, "SQLite: our own time of a step at 1,000 messages, p50", "ms", p.took.at(0.5)/1e6, 5)
	shown(b, "SQLite: our own time of a step at 1,000 messages, p95", "ms", p.took.at(0.95)/1e6)
}
