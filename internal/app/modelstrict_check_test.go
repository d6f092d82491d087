package app_test

import (
	"strings"
	"testing"
)

// The servers refuse what the documents say is refused: a check that could not fail
// would show nothing.
func TestTheModelServersRefuse(t *testing.T) {
	t.Parallel()
	call := `{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"read","input":{}}]},`
	answered := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"x"}]}`
	for _, c := range []struct{ vendor, body, want string }{
		{"anthropic", `{"max_tokens":9,"messages":[` + strings.TrimSuffix(call, ",") + `]}`, "no results"},
		{"anthropic", `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c9","content":"x"}]}]}`, "not called just before"},
		{"anthropic", `{"max_tokens":9,"messages":[` + call + `{"role":"user","content":[{"type":"text","text":"b"},{"type":"tool_result","tool_use_id":"c1","content":"x"}]}]}`, "results must come first"},
		{"anthropic", `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"h"},{"type":"text","text":"b"}]}]}`, "without a signature"},
		{"anthropic", `{"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[` + call + answered + `]}`, "expected `thinking`"},
		{"anthropic", `{"max_tokens":9000,"thinking":{"type":"adaptive"},"temperature":0.5,"messages":[` + call + answered + `]}`, "temperature"},
		{"anthropic", `{"max_tokens":9,"messages":[` + strings.Replace(call, `"id":"c1"`, `"id":"c.1"`, 1) + answered + `]}`, "pattern"},
		{"anthropic", `{"max_tokens":9,"output_config":{"format":{"schema":{"type":"object"}}},"messages":[` + call + answered + `]}`, "additionalProperties"},
		{"anthropic", `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"server_tool_use","id":"s1"},{"type":"text","text":"b"}]},{"role":"user","content":[{"type":"text","text":"c"}]}]}`, "corresponding result"},
		{"anthropic", `{"max_tokens":9,"messages":[` + call + answered + `]}`, ""},
		{"openai", `{"store":false,"model":"gpt-4.1","reasoning":{"effort":"high"},"input":[{"type":"message","role":"user","content":[{"text":"a"}]}]}`, "reasoning.effort"},
		{"openai", `{"store":false,"model":"gpt-5","input":[{"type":"function_call_output","call_id":"c1"}]}`, "not called just before"},
		{"openai", `{"store":false,"model":"gpt-5","input":[{"type":"message","role":"user","content":[{"text":"a"}]},{"type":"reasoning","encrypted_content":"x"}]}`, "without the item that follows"},
		{"openai", `{"store":false,"model":"gpt-5","input":[{"type":"message","role":"user","content":[{"text":"a"}]}]}`, ""},
		{"gemini", `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"id":"c"}}]},{"role":"user","parts":[{"functionResponse":{"id":"c"}}]}]}`, "no signature"},
		{"gemini", `{"tools":[{"functionDeclarations":[]},{"googleSearch":{}}],"contents":[{"role":"user","parts":[{"text":"a"}]}]}`, "include_server_side_tool_invocations"},
		{"gemini", `{"tools":[{"functionDeclarations":[],"googleSearch":{}}],"toolConfig":{"includeServerSideToolInvocations":true},"contents":[{"role":"user","parts":[{"text":"a"}]}]}`, "AUTO"},
		{"vertex", `{"tools":[{"functionDeclarations":[],"googleSearch":{}}],"toolConfig":{"includeServerSideToolInvocations":true,"functionCallingConfig":{"mode":"VALIDATED"}},"contents":[{"role":"user","parts":[{"text":"a"}]}]}`, "all search tools"},
		{"gemini", `{"tools":[{"functionDeclarations":[],"googleSearch":{}}],"toolConfig":{"includeServerSideToolInvocations":true,"functionCallingConfig":{"mode":"VALIDATED"}},"contents":[{"role":"user","parts":[{"text":"a"}]}]}`, ""},
		{"anthropic", `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"server_tool_use","id":"s1"}]}]}`, ""},
		{"deepseek", `{"response_format":{"type":"json_schema"},"messages":[{"role":"user","content":"a"}]}`, "unavailable"},
		{"openrouter", `{"messages":[{"role":"tool","tool_call_id":"x","content":"a"}]}`, "not called just before"},
	} {
		s := &modelServer{wire: wireFormats[c.vendor], name: c.vendor}
		err := s.strict([]byte(c.body))
		if err == nil {
			var turns []turnOf
			if turns, err = s.wire.history([]byte(c.body)); err == nil {
				err = acceptable(turns)
			}
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q of %s", c.vendor, err, c.want, c.body)
		}
	}
}
