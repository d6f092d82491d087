package gemini

import (
	"strings"
	"testing"

	"ramet/internal/llm"
	"ramet/internal/llm/wire"
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
