package anthropic

import (
	"encoding/json"
	"strings"

	"ramet/internal/llm"
	"ramet/internal/llm/wire"
)

// search is a block of the server's own search: what it looked for, or what it
// found. It goes back as it came; what it found is encrypted.
type search struct {
	block json.RawMessage
	input strings.Builder // comes in pieces
}

// cite keeps a citation of a text.
func (d *decoder) cite(i int, raw json.RawMessage) {
	var c struct {
		URL   string `json:"url"`
		Title string `json:"title"`
		Quote string `json:"cited_text"`
	}
	if json.Unmarshal(raw, &c) != nil || c.URL == "" {
		return
	}
	d.cited[i] = append(d.cited[i], raw)
	d.parts.Cite(i, llm.Source{URL: c.URL, Title: c.Title, Quote: c.Quote})
}

// whole puts what goes back to the server into a part that has come to its end.
func (d *decoder) whole(i int) {
	if list := d.cited[i]; list != nil {
		if kept, err := wire.Marshal(cited{list}); err == nil {
			d.parts.Keep(i, kept)
		}
		delete(d.cited, i)
	}
	s := d.looked[i]
	if s == nil {
		return
	}
	delete(d.looked, i)
	block := s.block
	if input := s.input.String(); json.Valid([]byte(input)) {
		var members map[string]json.RawMessage
		if json.Unmarshal(block, &members) == nil {
			members["input"] = json.RawMessage(input)
			if kept, err := wire.Marshal(members); err == nil {
				block = kept
			}
		}
	}
	d.parts.Keep(i, block)
	var asked struct {
		Input struct {
			Query string `json:"query"`
		} `json:"input"`
	}
	json.Unmarshal(block, &asked) // what was found says nothing of it
	d.parts.Note(i, asked.Input.Query)
}
