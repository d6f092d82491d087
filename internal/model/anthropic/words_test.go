package anthropic

import (
	"encoding/json"
	"testing"
)

// What words reads is what the library reads; and the vendor's own form is read by words.
func FuzzWords(f *testing.F) {
	const plainly = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" Größe, \"}"}}`
	for _, event := range []string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello,"}}`,
		`{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":" Größe"}           }`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}`,
		`{"type":"content_block_delta","index":12,"delta":{"type":"text_delta","text":"a"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\nb"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","text":"b"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"type":"ping"}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}`,
		"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\xff\"}}",
		plainly,
	} {
		f.Add([]byte(event))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		index, text, ok := words(data)
		if !ok {
			return
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil || e.Type != "content_block_delta" || e.Delta.Type != "text_delta" || e.Index != index || e.Delta.Text != text {
			t.Errorf("%q: %d %q, the library reads %+v %v", data, index, text, e, err)
		}
	})
}

func TestWordsReadsTheVendorsForm(t *testing.T) {
	for _, event := range []string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello,"}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":" Größe"}         }`,
	} {
		if _, _, ok := words([]byte(event)); !ok {
			t.Errorf("%s was left to the library", event)
		}
	}
}
