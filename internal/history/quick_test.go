package history

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzQuickParts: what is read quickly is what encoding/json reads of it.
func FuzzQuickParts(f *testing.F) {
	for _, s := range []string{
		`[{"type":"text","text":"plain"}]`, `[{"type":"text","text":"a\nb \"c\" \\"}]`, `[{"type":"text","text":"\\\""}]`, `[{"type":"text"}]`,
		`[{"type":"tool_result","text":"é \u00e9 \ud83d\ude00","call_id":"c","name":"bash"}]`, `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`,
		`[{"type":"tool_call","call_id":"c","name":"bash","args":{"a":1}}]`, `[{"text":"a","type":"text"}]`, `[{"type":"text","type":"x"}]`,
		`[{"type":"text","text":"` + "\xff" + `"}]`, `[{"type":"text","text":"\ud800"}]`, `[]`, `[{}]`, `[{"type":"text"}`, `[{"type":"text"}]x`, `"`, `[{"Text":"a"}]`, `[{"type":"\"}]`,
		`[{"type":"text","text":"` + "\x01" + `"}]`, `[{"type":"text",}]`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		got, ok := quickParts(content)
		if !ok {
			return
		}
		var want []Part
		if err := json.Unmarshal(content, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, encoding/json reads %+v (%v)", content, got, want, err)
		}
	})
}

// What Encode writes of texts and results is read quickly.
func TestTextsAreReadQuickly(t *testing.T) {
	parts := []Part{{Type: Text, Text: "a \"b\"\n\\ – é\u2028"}, {Type: Result, Text: "c", CallID: "1", Name: "bash"}, {Type: Thinking, Text: "d", Signature: "s"}}
	content, _, err := Encode(parts)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := quickParts(content); !ok || !reflect.DeepEqual(got, parts) {
		t.Errorf("%s: %+v %v", content, got, ok)
	}
}
