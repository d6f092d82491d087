package kernel

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// takeBack gives an agent the model again that it had, when the one that it was told with this prompt turned out to
// be none: its vendor, or the program that drives it, has no such model. Else every later prompt would
// fail with it.
func (p *agentProcess) takeBack(ctx context.Context, was agent.Agent, claim agent.Claim, j *job, why error) {
	told := j.prompt.Model
	had := llm.Ref{Vendor: was.Provider, Name: was.Model}
	if told == (llm.Ref{}) || told == had || !fault.Is(why, fault.ProviderNotFound) {
		return
	}
	if had.Vendor == "" || had.Name == "" {
		m, err := p.kernel.Model(was, llm.Ref{})
		if err != nil || m.Ref == told {
			return
		}
		had = m.Ref
	}
	writing, cancel := linger(ctx)
	defer cancel()
	if err := p.append(writing, claim, registry.ModelEntry(had.Vendor, had.Name)); err != nil && !lost(err) {
		p.kernel.Events.Publish(loop.Event{Type: loop.Note, Agent: p.id, Text: "the agent keeps a model that there is not: " + err.Error()})
	}
}
