package anthropic

import (
	"encoding/json"
	"strings"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
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

// findSearches says up to which message the conversation has gone on since, and which
// searches have been answered. What the server looks for is answered in the same
// message, or in a later one when it paused or called for a tool of ours meanwhile; a
// search that was never answered, because the answer broke off, is refused.
func findSearches(messages []llm.Message) (answered int, found map[string]bool) {
	for i, m := range messages {
		if m.Role == llm.User {
			answered = i
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != llm.Search || p.Origin != Origin {
				continue
			}
			if _, of := searchIDs(p.Opaque); of != "" {
				if found == nil {
					found = map[string]bool{}
				}
				found[of] = true
			}
		}
	}
	return answered, found
}

// isUnanswered reports whether a block is a search without an answer.
func isUnanswered(b block, found map[string]bool) bool {
	if b.part.Type != llm.Search {
		return false
	}
	own, _ := searchIDs(b.part.Opaque)
	return own != "" && !found[own]
}

// searchIDs returns the id of a search, and of the one that it answers.
func searchIDs(raw json.RawMessage) (own, of string) {
	var block struct {
		ID string `json:"id"`
		Of string `json:"tool_use_id"`
	}
	json.Unmarshal(raw, &block) // what is none has neither
	return block.ID, block.Of
}
