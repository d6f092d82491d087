package chat

import (
	"testing"

	"go.uber.org/goleak"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
	"ramet/internal/testkit/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var suite = llmtest.Suite{
	New:   func(o wire.Options) llm.Provider { return New(o, Dialect{}) },
	Model: "llama", KeyHeader: "Authorization", KeyPrefix: "Bearer ", Thinking: true, Reasoning: 8, WriteCache: 20,
	Raw: map[string]string{"text": "stop", "thinking": "stop", "tools": "tool_calls", "cache": "stop",
		"length": "length", "badargs": "length", "refusal": "refusal"},
}

func TestConformance(t *testing.T) { llmtest.Run(t, suite) }

func FuzzStream(f *testing.F) { llmtest.Fuzz(f, suite) }
