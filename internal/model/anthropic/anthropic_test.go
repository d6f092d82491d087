package anthropic

import (
	"testing"

	"go.uber.org/goleak"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
	"ramet/internal/testkit/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var suite = llmtest.Suite{
	New:   func(o wire.Options) llm.Provider { return At(o, Host{}) },
	Model: "claude-sonnet-4-6", KeyHeader: "X-Api-Key", Thinking: true, WriteCache: 20,
	Raw: map[string]string{"text": "end_turn", "thinking": "end_turn", "tools": "tool_use", "cache": "end_turn",
		"length": "max_tokens", "badargs": "max_tokens", "refusal": "refusal"},
	Lookup: llm.Model{Known: true, Name: "claude-sonnet-4-6", Output: 64000, Thinks: true, Efforts: []string{"low", "medium", "high", "max"}},
}

func TestConformance(t *testing.T) { llmtest.Run(t, suite) }

func FuzzStream(f *testing.F) { llmtest.Fuzz(f, suite) }
