package chat

import (
	"cmp"
	"encoding/json"
	"math"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

type decoder struct {
	parts   wire.Parts
	text    int         // the text being written, -1 for none
	thought int         // the thinking being written
	calls   map[int]int // index of the protocol to ours
	ids     []string    // of the calls, by the order of their beginning
	last    int         // the call that came last, in calls
	details details
	usage   *llm.Usage
	reason  string
	ended   bool // the end was said, with or without a reason
	refused bool
	pages   []llm.Source
}

type chunk struct {
	Choices []struct {
		Delta struct {
			Content   json.RawMessage   `json:"content"`
			Refusal   string            `json:"refusal"`
			Reasoning string            `json:"reasoning"`
			Thinking  string            `json:"reasoning_content"`
			Details   []json.RawMessage `json:"reasoning_details"`
			ToolCalls []toolCall        `json:"tool_calls"`
			Notes     []annotation      `json:"annotations"`
		} `json:"delta"`
		FinishReason string          `json:"finish_reason"`
		Error        json.RawMessage `json:"error"`
	} `json:"choices"`
	Usage *usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// annotation is a page that the answer rests on (OpenRouter).
type annotation struct {
	Type string `json:"type"`
	Page struct {
		URL     string `json:"url"`
		Title   string `json:"title"`
		Content string `json:"content"`
	} `json:"url_citation"`
}

type toolCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	Prompt     int64       `json:"prompt_tokens"`
	Completion int64       `json:"completion_tokens"`
	Total      int64       `json:"total_tokens"`
	Hit        int64       `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cost       json.Number `json:"cost"`                    // OpenRouter, in dollars
	Details    struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"` // OpenRouter
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (d *decoder) Next(_ string, data []byte) ([]llm.Event, bool, error) {
	if string(data) == "[DONE]" {
		d.ended = true
		return nil, true, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, false, wire.Garbled("a chunk is not JSON of the protocol: %v", err)
	}
	if isPresent(c.Error) {
		return nil, false, wire.ParseSaid(data)
	}
	if c.Usage != nil {
		d.count(*c.Usage)
	}
	for _, choice := range c.Choices[:min(len(c.Choices), 1)] {
		if isPresent(choice.Error) {
			return nil, false, wire.ParseSaid([]byte(`{"error":` + string(choice.Error) + `}`))
		}
		delta := choice.Delta
		d.details.add(delta.Details)
		d.think(cmp.Or(delta.Thinking, delta.Reasoning)) // it comes under one of two names, or under both
		said, thought := plainContent(delta.Content)
		d.think(thought)
		d.say(said)
		if delta.Refusal != "" {
			d.refused = true
			d.say(delta.Refusal)
		}
		for _, call := range delta.ToolCalls {
			d.call(call)
		}
		d.cite(delta.Notes)
		if choice.FinishReason != "" {
			d.reason = choice.FinishReason
		}
	}
	return d.take(), false, nil
}

func (d *decoder) take() []llm.Event {
	events := d.parts.Take()
	if d.usage != nil {
		events = append(events, llm.Event{Type: llm.Used, Usage: d.usage})
		d.usage = nil
	}
	return events
}

func (d *decoder) think(s string) {
	if s == "" {
		return
	}
	if d.thought < 0 {
		d.thought = d.parts.Open(llm.Thinking)
	}
	d.parts.Add(d.thought, s)
}

func (d *decoder) say(s string) {
	if s == "" {
		return
	}
	if d.text < 0 {
		d.text = d.parts.Open(llm.Text)
	}
	d.parts.Add(d.text, s)
}

// cite notes the pages that the text rests on.
func (d *decoder) cite(notes []annotation) {
	for _, n := range notes {
		if n.Type == "url_citation" && n.Page.URL != "" {
			d.pages = append(d.pages, llm.Source{URL: n.Page.URL, Title: n.Page.Title, Quote: n.Page.Content})
		}
	}
}

// call takes a piece of a call. Most servers number calls; some send the same
// number for each, with another id; some send no number.
func (d *decoder) call(c toolCall) {
	key := d.last
	if c.Index != nil {
		key = *c.Index
	} else if c.ID != "" || c.Function.Name != "" {
		key = -1 - len(d.ids)
	}
	i, known := d.calls[key]
	if known && c.ID != "" && c.Function.Name != "" && !d.has(i, c.ID) {
		known = false
	}
	if !known {
		if c.Function.Name == "" {
			return // a piece of nothing
		}
		id := c.ID
		if id == "" {
			id = wire.NewCallID()
		}
		i = d.parts.OpenCall(id, c.Function.Name)
		for len(d.ids) <= i {
			d.ids = append(d.ids, "")
		}
		d.ids[i] = c.ID
		d.calls[key] = i
	}
	d.last = key
	d.parts.Add(i, wire.Arguments(c.Function.Arguments))
}

func (d *decoder) has(i int, id string) bool { return i < len(d.ids) && d.ids[i] == id }

// plainContent returns content that is a string, or joins the texts of a list of pieces.
// Mistral's lists hold thoughts too, which are lists in turn.
func plainContent(raw json.RawMessage) (said, thought string) {
	if !isPresent(raw) || json.Unmarshal(raw, &said) == nil {
		return said, ""
	}
	var list []struct {
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return "", ""
	}
	for _, one := range list {
		said += one.Text
		inner, _ := plainContent(one.Thinking)
		thought += inner
	}
	return said, thought
}

func isPresent(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// count converts usage. xAI counts thinking beside what was written, others
// within; the total tells them apart.
func (d *decoder) count(u usage) {
	cached := max(u.Details.Cached, u.Hit)
	out := llm.Usage{
		Input:  wire.Rest(u.Prompt, cached, u.Details.Written),
		Output: u.Completion, CacheRead: cached, CacheWrite: u.Details.Written,
		Reasoning: u.CompletionDetails.Reasoning, Billed: parseDollars(u.Cost),
	}
	if u.Total == u.Prompt+u.Completion+u.CompletionDetails.Reasoning {
		out.Output += out.Reasoning
	}
	d.usage = &out
}

// parseDollars returns an amount as a server writes it, rounded up; 0 where it says none.
func parseDollars(n json.Number) llm.Money {
	amount, err := n.Float64()
	if err != nil || amount < 0 || amount > 1e6 {
		return 0
	}
	return llm.Money(math.Ceil(amount*1e9 - 1e-3))
}

var reasons = map[string]llm.Reason{
	"stop": llm.Stop, "eos": llm.Stop, "end_turn": llm.Stop,
	"[DONE]": llm.Stop, "length": llm.Length, "tool_calls": llm.ToolCalls, "function_call": llm.ToolCalls,
}

func (d *decoder) Close() ([]llm.Event, llm.Finish, bool) {
	if d.reason == "" && d.ended && !d.parts.Calls() {
		d.reason = "[DONE]" // some servers say no more than that; of a call nothing says that it is whole
	}
	if d.reason == "" {
		return nil, llm.Finish{}, false
	}
	d.keep()
	if d.text >= 0 { // they may come before it
		for _, page := range d.pages {
			d.parts.Cite(d.text, page)
		}
	}
	d.parts.DoneAll()
	finish := llm.Finish{Reason: llm.Error, Raw: d.reason} // content_filter, error, and what we have not heard of
	if reason, known := reasons[d.reason]; known {
		finish.Reason = reason
	}
	switch {
	case d.refused:
		finish = llm.Finish{Reason: llm.Error, Raw: "refusal"}
	case finish.Reason == llm.Stop && d.parts.Calls():
		finish.Reason = llm.ToolCalls // some servers say stop
	case finish.Reason == llm.ToolCalls && !d.parts.Calls():
		finish.Reason = llm.Stop
	}
	return d.take(), finish, true
}

// keep puts the details where they will be found again: on the thought that they
// belong to or, where there is no thought to show, on the last text or call, since
// a thought behind those is dropped.
func (d *decoder) keep() {
	kept := d.details.bytes()
	if kept == nil {
		return
	}
	at := d.thought
	if at < 0 {
		at = d.parts.Last()
	}
	if at < 0 {
		at = d.parts.Open(llm.Thinking)
	}
	d.parts.Keep(at, kept)
}

// details is OpenRouter's reasoning_details: signed or encrypted thinking in
// pieces, which it wants back whole and in order. Pieces of the same index, type
// and id are one; a piece without an id continues the last one of its index and
// type.
type details struct {
	list []map[string]any
}

func (d *details) add(pieces []json.RawMessage) {
	for _, raw := range pieces {
		var one map[string]any
		if json.Unmarshal(raw, &one) != nil || one == nil {
			continue
		}
		whole := d.find(one)
		if whole == nil {
			d.list = append(d.list, one)
			continue
		}
		for name, value := range one {
			more, isText := value.(string)
			had, hadText := whole[name].(string)
			grows := name == "text" || name == "summary" || name == "data"
			switch {
			case grows && isText && hadText:
				whole[name] = had + more
			case value != nil:
				whole[name] = value
			}
		}
	}
}

// find returns the detail that a piece continues; nil if it begins one.
func (d *details) find(piece map[string]any) map[string]any {
	if piece["index"] == nil {
		return nil
	}
	id, _ := piece["id"].(string)
	for i := len(d.list) - 1; i >= 0; i-- {
		one := d.list[i]
		if one["index"] != piece["index"] || one["type"] != piece["type"] {
			continue
		}
		if other, _ := one["id"].(string); id == "" || other == "" || id == other {
			return one
		}
	}
	return nil
}

func (d *details) bytes() []byte {
	if len(d.list) == 0 {
		return nil
	}
	out, err := wire.Marshal(d.list)
	if err != nil {
		return nil
	}
	return out
}
