package responses

import (
	"testing"

	"go.uber.org/goleak"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
	"ramet/internal/testkit/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var suite = llmtest.Suite{
	New:   func(o wire.Options) llm.Provider { return New(o) },
	Model: "gpt-5", KeyHeader: "Authorization", KeyPrefix: "Bearer ", Thinking: true, Reasoning: 8, WriteCache: 20,
	Raw: map[string]string{"text": "completed", "thinking": "completed", "tools": "completed", "cache": "completed",
		"length": "max_output_tokens", "badargs": "max_output_tokens", "refusal": "refusal"},
	Lookup: llm.Model{Known: true, Name: "gpt-5", Thinks: true, Efforts: []string{"minimal", "low", "medium", "high"}},
}

func TestConformance(t *testing.T) { llmtest.Run(t, suite) }

func FuzzStream(f *testing.F) { llmtest.Fuzz(f, suite) }
