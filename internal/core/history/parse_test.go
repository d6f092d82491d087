package history

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestTheUsualFormIsReadByHand(t *testing.T) {
	for _, parts := range [][]Part{
		{{Type: Text, Text: "hello"}},
		{{Type: Text, Text: "a\nb\t\"c\" \\ <&> é 😀\u2028\x1b"}, {Type: Thinking, Text: "hm", Signature: "s+/=", Origin: "anthropic"}},
		{{Type: ToolCall, CallID: "a", Name: "read", Args: json.RawMessage(`{"a":[1,{"b":"}\"]"}],"c":null}`)}},
		{{Type: ToolCall, CallID: "a", Name: "read", Args: json.RawMessage(`{}`), Malformed: `{"a`}},
		{{Type: Result, CallID: "a", Name: "read", Text: "", IsError: true, Show: "x"}},
		{{Type: Facts, Text: "it rains"}, {Type: Search, Text: "rain"}},
	} {
		content, _, err := Encode(parts)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := parse(content, nil); !ok || !reflect.DeepEqual(got, parts) {
			t.Errorf("%s: %v %+v", content, ok, got)
		}
	}
	for _, content := range []string{``, `[]`, `[{}]`, `[{"type":"text"}`, `[{"type":"text"}]x`, `[{"type":"te` + "\n" + `xt"}]`,
		`[{"text":"\ud800"}]`, `[{"text":"\`, `[{"args":{"a":1}},{"args":{]}]`, `[{"args":1}]`, `[{"future":"x"}]`, `[{"is_error":false}]`} {
		if got, ok := parse([]byte(content), nil); ok {
			t.Errorf("%s was read as %+v", content, got)
		}
	}
}

// What is read by hand is read as the library reads it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`[{"type":"text","text":"a\nb"}]`, `[{"type":"tool_call","call_id":"a","args":{"x":["}"]}},{"type":"text"}]`,
		`[{"type":"tool_result","is_error":true,"text":"\\\""}]`, `[{"text":"\ud800"}]`, `[{"text":"a","text":"b"}]`, "[{\"text\":\"\xff\"}]",
		`[{"type":"tool_result","text":"é \u00e9 \ud83d\ude00","call_id":"c","name":"bash"}]`, `[{"text":"a","type":"text"}]`, `[{"type":"text","type":"x"}]`,
		`[]`, `[{}]`, `[{"type":"text"}`, `[{"type":"text"}]x`, `"`, `[{"Text":"a"}]`, `[{"type":"\"}]`, `[{"type":"text",}]`, "[{\"text\":\"\x01\"}]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		got, ok := parse(content, nil)
		if !ok {
			return
		}
		var want []Part
		if err := json.Unmarshal(content, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, the library says %+v %v", content, got, want, err)
		}
	})
}
