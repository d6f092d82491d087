package kernel

import (
	"context"

	"ramet/internal/core/agent"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// tools finds the tools of an agent. Servers that are asked for theirs for the first time may take
// long: whoever stops the turn does not wait for them, and what they say is there the next time.
func (p *agentProcess) tools(ctx context.Context, a agent.Agent) (tool.Box, error) {
	type found struct {
		box tool.Box
		err error
	}
	made := make(chan found, 1)
	p.kernel.work.Go(func() {
		box, err := p.kernel.Tools(a)
		made <- found{box, err}
	})
	select {
	case f := <-made:
		return f.box, f.err
	case <-ctx.Done():
		return nil, llm.Ended(ctx)
	}
}
