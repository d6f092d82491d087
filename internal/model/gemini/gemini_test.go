package gemini

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
	Model: "gemini-3-pro-preview", KeyHeader: "X-Goog-Api-Key", Thinking: true, Reasoning: 8,
	Raw: map[string]string{"text": "STOP", "thinking": "STOP", "tools": "STOP", "cache": "STOP",
		"length": "MAX_TOKENS", "refusal": "SAFETY"}, // its arguments come whole
	Lookup: llm.Model{Known: true, Name: "gemini-3-pro-preview", Thinks: true, Efforts: []string{"low", "high"}},
}

func TestConformance(t *testing.T) { llmtest.Run(t, suite) }

func FuzzStream(f *testing.F) { llmtest.Fuzz(f, suite) }
