package gemini

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
)

func TestDrawnIDsStayHere(t *testing.T) {
	d := &decoder{parts: wire.Parts{Origin: Origin}, open: -1}
	if _, _, err := d.Next("", []byte(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"x"}}]},"finishReason":"STOP"}]}`)); err != nil {
		t.Fatal(err)
	}
	call := llm.NewCall(wire.NewCallID(), "x", "")
	p := &provider{model: func(string) llm.Model { return llm.Model{} }}
	_, value := p.encode(llm.Request{Model: "a/b", Messages: []llm.Message{
		{Role: llm.Assistant, Parts: []llm.Part{call}}, {Role: llm.ToolRole, Parts: []llm.Part{llm.Result(call, "r", false)}}}})
	out, err := wire.Marshal(value)
	if err != nil || strings.Contains(string(out), "drawn") || !strings.Contains(string(out), `{"functionResponse":{"name":"x","response":{"output":"r"}}}`) {
		t.Errorf("%s %v", out, err)
	}
}

func TestABlockedPromptIsAFinish(t *testing.T) {
	d := &decoder{parts: wire.Parts{Origin: Origin}, open: -1}
	if _, _, err := d.Next("", []byte(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`)); err != nil {
		t.Fatal(err)
	}
	if _, finish, ok := d.Close(); !ok || finish != (llm.Finish{Reason: llm.Error, Raw: "PROHIBITED_CONTENT"}) {
		t.Errorf("%+v %v", finish, ok)
	}
}

// Search stands beside functions where the model and its host take both, and what the
// server told of it goes back there alone.
func TestSearchBesideFunctions(t *testing.T) {
	old := llm.Model{Known: true, Search: true, Thinks: true}
	levels := llm.Model{Known: true, Search: true, Thinks: true, Efforts: []string{"low", "high"}}
	functions := []llm.Tool{{Name: "read", Schema: []byte(`{"type":"object"}`)}}
	found := llm.Part{Type: llm.Search, Origin: Origin, Signature: "sig", Opaque: []byte(`{"toolCall":{"id":"s1"}}`)}
	const both = `"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"},"includeServerSideToolInvocations":true}`
	for name, c := range map[string]struct {
		known llm.Model
		below string
		r     llm.Request
		want  []string
		not   []string
	}{
		"both":               {levels, usual, llm.Request{Tools: functions, Search: true}, []string{`"googleSearch":{}`, both, `{"thoughtSignature":"sig","toolCall":{"id":"s1"}}`}, nil},
		"an older model":     {old, usual, llm.Request{Tools: functions, Search: true}, []string{"functionDeclarations"}, []string{"googleSearch", "toolConfig", "toolCall"}},
		"Google's cloud":     {levels, "/elsewhere/", llm.Request{Tools: functions, Search: true}, []string{"functionDeclarations"}, []string{"googleSearch", "toolConfig", "toolCall"}},
		"search alone":       {old, usual, llm.Request{Search: true}, []string{`"googleSearch":{}`}, []string{"toolConfig", "functionDeclarations"}},
		"nothing to call":    {levels, usual, llm.Request{Tools: functions, Search: true, NoCalls: true}, []string{`"mode":"NONE"`}, []string{"googleSearch", "includeServer"}},
		"nobody allowed it":  {levels, usual, llm.Request{Tools: functions}, []string{"functionDeclarations"}, []string{"googleSearch", "toolConfig"}},
		"it cannot be asked": {llm.Model{Known: true, Efforts: []string{"low"}}, usual, llm.Request{Tools: functions, Search: true}, nil, []string{"googleSearch", "toolConfig"}},
	} {
		p := &provider{model: func(string) llm.Model { return c.known }, below: c.below}
		c.r.Model, c.r.Messages = "m", []llm.Message{llm.Say(llm.User, "hi"), {Role: llm.Assistant, Parts: []llm.Part{found, {Type: llm.Text, Text: "so"}}}, llm.Say(llm.User, "and?")}
		_, value := p.encode(c.r)
		out := testkit.Must(wire.Marshal(value))(t)
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %s in %s", name, want, out)
			}
		}
		for _, not := range c.not {
			if strings.Contains(string(out), not) {
				t.Errorf("%s: %s in %s", name, not, out)
			}
		}
	}
}

// What the server told comes as parts in their order; each query is counted where the
// model is charged so.
func TestWhatTheServerLookedUp(t *testing.T) {
	for perQuery, searches := range map[bool]int64{true: 2, false: 1} {
		d := &decoder{parts: wire.Parts{Origin: Origin}, open: -1, perQuery: perQuery}
		var c llm.Collector
		for _, e := range []string{
			`{"candidates":[{"content":{"parts":[{"text":"I look."},{"toolCall":{"id":"s1","toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["a","b"]}},"thoughtSignature":"x"},{"toolResponse":{"id":"s1","response":{"h":"<b>"}}},{"functionCall":{"id":"f","name":"read","args":{}},"toolCall":null}]}}]}`,
			`{"candidates":[{"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["a","b"],"groundingChunks":[{"web":{"uri":"https://e.org","title":"E"}}]}}],"usageMetadata":{"promptTokenCount":1}}`,
		} {
			events, _, err := d.Next("", []byte(e))
			testkit.OK(t, err)
			for _, one := range events {
				c.Add(one)
			}
		}
		events, finish, _ := d.Close()
		for _, e := range append(events, llm.Event{Type: llm.Finished, Finish: finish}) {
			c.Add(e)
		}
		m, usage, finish, err := c.Result()
		if err != nil || finish.Reason != llm.ToolCalls || usage.Searches != searches || len(m.Parts) != 5 || len(m.Sources()) != 1 {
			t.Fatalf("%+v %+v %+v %v", m, usage, finish, err)
		}
		if p := m.Parts[1]; p.Type != llm.Search || p.Text != "a; b" || p.Signature != "x" || !strings.Contains(string(m.Parts[2].Opaque), `"h":"<b>"`) || m.Parts[4].Text != "" {
			t.Errorf("%+v", m.Parts)
		}
	}
}

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
