package public

import (
	"bytes"
	"encoding/json"
	"testing"

	"ramet/internal/base/chain"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
)

// The form that is written quickly is the one of encoding/json, byte for byte, where it reaches a terminal.
func TestAppendToIsTheFormOfEncodingJSON(t *testing.T) {
	texts := []string{"", "plain", "a \"b\"\n\t\\ </b> &", "é – \u2028\u2029 \x7f \u202e \x00\x1b\b\f\r", "😀\ufeff\U000e0001"}
	blob := chain.Sum([]byte("large"))
	contents := [][]byte{nil, {}, []byte(`[{"type":"image","media_type":"a/b","blob":"` + blob.String() + `","size":5}]`), []byte("[ {\n\"type\":\"text\"} ]")}
	for _, s := range texts {
		for _, parts := range [][]history.Part{{{Type: history.Text, Text: s}},
			{{Type: history.ToolCall, CallID: "1", Name: s, Args: json.RawMessage(`{"a":1}`)}, {Type: history.Result, Text: s, IsError: true}}} {
			content, _, err := history.Encode(parts)
			if err != nil {
				t.Fatal(err)
			}
			contents = append(contents, content)
		}
	}
	for _, content := range contents {
		e, err := ReadEntry(history.Entry{ID: 7, Agent: "no \xff UTF-8", Kind: history.User, Content: content, Meta: []byte(`{"label":"x<y"}`), Hash: blob}, true,
			func(chain.Hash) ([]byte, error) { return []byte("large"), nil })
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
		got, err := e.AppendTo(nil)
		if err != nil || text.JSON(string(got)+"\n") != text.JSON(want.String()) {
			t.Errorf("%q:\n%s\n%s %v", content, got, want.String(), err)
		}
	}
}
