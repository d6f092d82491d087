package kernel

import (
	"context"
	"slices"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
	"ramet/internal/core/agent"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
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

// shy is a tool that takes itself away, as that of skills does where there are none.
type shy struct{}

func (shy) Spec() tool.Spec {
	return tool.Spec{Name: "shy", Access: tool.Reads, Args: shape.Object()}
}

func (shy) Run(context.Context, tool.Call) (tool.Answer, error) { return tool.Answer{}, nil }

func (s shy) Narrow(b tool.Box) tool.Box {
	return slices.DeleteFunc(slices.Clone(b), func(t tool.Tool) bool { return t == tool.Tool(s) })
}

// What stands before the context is made once in a turn, for the tools that are left.
func TestTheFirstWordsAreMadeOnce(t *testing.T) {
	b := newBench(t, `{"when": "go", "steps": [{"text": "done"}]}`)
	b.Options.Tools = func(agent.Agent) (tool.Box, error) { return tool.Box{shy{}}, nil }
	made := 0
	b.Options.System = func(_ agent.Agent, box tool.Box) ([]llm.Message, string, error) {
		if made++; slices.Contains(box.Names(), "shy") {
			t.Error("they are made for a tool that is taken away")
		}
		return []llm.Message{llm.Say(llm.System, "Work.")}, "", nil
	}
	b.start()
	if _, err := b.exec(b.zero.ID, "go"); err != nil || made != 1 {
		t.Errorf("made %d times, %v", made, err)
	}
}
