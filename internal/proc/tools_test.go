package proc

import (
	"context"
	"testing"

	"ramet/internal/agent"
	"ramet/internal/fault"
	"ramet/internal/tool"
)

// Whoever stops a turn does not wait for servers that are asked for their tools.
func TestAStoppedTurnDoesNotWaitForItsTools(t *testing.T) {
	b := newBench(t, `{"when": "go", "steps": [{"text": "done"}]}`)
	asked, answer := make(chan struct{}), make(chan struct{})
	b.Options.Tools = func(agent.Agent) (tool.Box, error) {
		select {
		case <-asked:
		default:
			close(asked)
		}
		<-answer
		return nil, nil
	}
	b.start()
	defer close(answer)
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-asked; stop() }()
	turn, err := b.kernel.Exec(ctx, b.zero.ID, Prompt{Text: "go"})
	if err == nil {
		_, err = turn.Wait()
	}
	if !fault.Is(err, fault.Cancelled) {
		t.Errorf("%v", err)
	}
}
