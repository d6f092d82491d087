package anthropic

import (
	"encoding/json"
	"strings"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

type decoder struct {
	parts  wire.Parts
	blocks map[int]int               // index of the protocol to ours; -1 is passed over
	cited  map[int][]json.RawMessage // of our texts, as they came
	looked map[int]*search           // searches of the server that are being told
	usage  llm.Usage
	reason string
}

func newDecoder() wire.Decoder {
	return &decoder{parts: wire.Parts{Origin: Origin}, blocks: map[int]int{}, cited: map[int][]json.RawMessage{}, looked: map[int]*search{}}
}

type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Content []json.RawMessage `json:"content"`
		Usage   usage             `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Type        string          `json:"type"`
		Text        string          `json:"text"`
		Thinking    string          `json:"thinking"`
		Signature   string          `json:"signature"`
		PartialJSON string          `json:"partial_json"`
		StopReason  string          `json:"stop_reason"`
		Citation    json.RawMessage `json:"citation"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// usage names what is known so far; what is absent has not changed.
type usage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Creation   struct {
		Hour *int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Details struct {
		Thinking *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Server struct {
		Searches *int64 `json:"web_search_requests"`
	} `json:"server_tool_use"`
}

func (d *decoder) Next(_ string, data []byte) ([]llm.Event, bool, error) {
	var e event
	if err := wire.Unmarshal(data, &e); err != nil {
		return nil, false, wire.Garbled("an event is not JSON: %v", err)
	}
	var err error
	switch e.Type {
	case "message_start":
		for i, block := range e.Message.Content { // some proxies send what they have at once
			at := &event{Index: -1 - i, Block: block}
			if err := d.start(at); err != nil {
				return nil, false, err
			}
			d.stop(at)
		}
		d.count(e.Message.Usage)
		return d.used(), false, nil
	case "content_block_start":
		err = d.start(&e)
	case "content_block_delta":
		err = d.delta(&e)
	case "content_block_stop":
		err = d.stop(&e)
	case "message_delta":
		if e.Delta.StopReason != "" {
			d.reason = e.Delta.StopReason
		}
		d.count(e.Usage)
		return d.used(), false, nil
	case "message_stop":
		return nil, true, nil
	case "error":
		err = wire.ParseSaid(data)
	}
	return d.parts.Take(), false, err
}

func (d *decoder) start(e *event) error {
	var b struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Input     json.RawMessage `json:"input"`

		Citations []json.RawMessage `json:"citations"`
	}
	if err := json.Unmarshal(e.Block, &b); err != nil {
		return wire.Garbled("a content block is not JSON: %v", err)
	}
	if _, twice := d.blocks[e.Index]; twice {
		return wire.Garbled("content block %d begins twice", e.Index)
	}
	i := -1
	switch b.Type {
	case "text":
		i = d.parts.Open(llm.Text)
		d.parts.Add(i, b.Text)
		for _, one := range b.Citations {
			d.cite(i, one)
		}
	case "server_tool_use", "web_search_tool_result":
		i = d.parts.Open(llm.Search)
		d.looked[i] = &search{block: e.Block}
	case "thinking":
		i = d.parts.Open(llm.Thinking)
		d.parts.Add(i, b.Thinking)
		d.parts.Sign(i, b.Signature)
	case "redacted_thinking":
		i = d.parts.Open(llm.Thinking)
		d.parts.Keep(i, e.Block)
	case "tool_use":
		i = d.parts.OpenCall(b.ID, b.Name)
		if s := string(b.Input); s != "" && s != "{}" && s != "null" {
			d.parts.Add(i, s) // not in pieces
		}
	}
	d.blocks[e.Index] = i
	return nil
}

func (d *decoder) delta(e *event) error {
	i, ok := d.blocks[e.Index]
	if !ok {
		return wire.Garbled("content block %d continues and never began", e.Index)
	}
	if i < 0 {
		return nil
	}
	switch e.Delta.Type {
	case "text_delta":
		d.parts.Add(i, e.Delta.Text)
	case "thinking_delta":
		d.parts.Add(i, e.Delta.Thinking)
	case "signature_delta":
		d.parts.Sign(i, e.Delta.Signature)
	case "input_json_delta":
		if s := d.looked[i]; s != nil {
			s.input.WriteString(e.Delta.PartialJSON)
			return nil
		}
		d.parts.Add(i, e.Delta.PartialJSON)
	case "citations_delta":
		d.cite(i, e.Delta.Citation)
	}
	return nil
}

func (d *decoder) stop(e *event) error {
	i, ok := d.blocks[e.Index]
	if !ok {
		return wire.Garbled("content block %d ends and never began", e.Index)
	}
	if i >= 0 {
		d.whole(i)
		d.parts.Done(i)
	}
	return nil
}

func (d *decoder) count(u usage) {
	for _, one := range []struct {
		from *int64
		to   *int64
	}{{u.Input, &d.usage.Input}, {u.Output, &d.usage.Output}, {u.CacheRead, &d.usage.CacheRead}, {u.CacheWrite, &d.usage.CacheWrite},
		{u.Creation.Hour, &d.usage.CacheHour}, {u.Details.Thinking, &d.usage.Reasoning},
		{u.Server.Searches, &d.usage.Searches}} {
		if one.from != nil {
			*one.to = *one.from
		}
	}
}

func (d *decoder) used() []llm.Event {
	return append(d.parts.Take(), llm.Event{Type: llm.Used, Usage: new(d.usage)})
}

var reasons = map[string]llm.Reason{
	"end_turn": llm.Stop, "stop_sequence": llm.Stop, "pause_turn": llm.Paused,
	"max_tokens": llm.Length, "model_context_window_exceeded": llm.Length,
	"tool_use": llm.ToolCalls,
}

func (d *decoder) Close() ([]llm.Event, llm.Finish, bool) {
	if d.reason == "" {
		return nil, llm.Finish{}, false
	}
	for _, i := range d.blocks {
		if i >= 0 {
			d.whole(i)
		}
	}
	d.parts.DoneAll()
	reason, known := reasons[d.reason]
	if !known { // refusal, and what we have not heard of
		reason = llm.Error
	}
	return d.parts.Take(), llm.Finish{Reason: reason, Raw: d.reason}, true
}

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
