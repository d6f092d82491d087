package responses

import (
	"cmp"
	"encoding/json"
	"strings"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

type decoder struct {
	parts   wire.Parts
	items   map[int]int // index of the protocol to ours; -1 is passed over
	summary map[int]int // which part of a summary came last
	refused bool
	finish  llm.Finish

	searches int64
}

func newDecoder() wire.Decoder {
	return &decoder{parts: wire.Parts{Origin: ResponsesOrigin}, items: map[int]int{}, summary: map[int]int{}}
}

type event struct {
	Type         string          `json:"type"`
	OutputIndex  int             `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        string          `json:"delta"`
	Item         json.RawMessage `json:"item"`
	Response     *response       `json:"response"`
}

type response struct {
	Error      json.RawMessage   `json:"error"`
	Output     []json.RawMessage `json:"output"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *struct {
		Input   int64 `json:"input_tokens"`
		Output  int64 `json:"output_tokens"`
		Details struct {
			Cached  int64 `json:"cached_tokens"`
			Written int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

type item struct {
	Type      string          `json:"type"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Phase     string          `json:"phase"`
	Content   []struct {
		Type        string       `json:"type"`
		Text        string       `json:"text"`
		Refusal     string       `json:"refusal"`
		Annotations []annotation `json:"annotations"`
	} `json:"content"`
	Action struct {
		Type    string   `json:"type"`
		Query   string   `json:"query"`
		Queries []string `json:"queries"`
		URL     string   `json:"url"`
	} `json:"action"`
}

// annotation is a page that a text rests on, if it is of that type.
type annotation struct {
	Type  string `json:"type"`
	URL   string `json:"url"`
	Title string `json:"title"`
}

func (d *decoder) Next(_ string, data []byte) ([]llm.Event, bool, error) {
	if string(data) == "[DONE]" { // of proxies
		return nil, d.finish.Raw != "", nil
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		// Only deltas that are strings are ours; others have another shape.
		var kind struct{ Type string }
		if json.Unmarshal(data, &kind) != nil || isOwnKind(kind.Type) {
			return nil, false, wire.Garbled("an event is not JSON of its kind: %v", err)
		}
		return nil, false, nil
	}
	var err error
	switch e.Type {
	case "response.output_item.added":
		err = d.added(e)
	case "response.output_text.delta", "response.function_call_arguments.delta", "response.reasoning_text.delta":
		err = d.delta(e)
	case "response.refusal.delta":
		d.refused = true
		err = d.delta(e)
	case "response.reasoning_summary_text.delta":
		if i, ok := d.items[e.OutputIndex]; ok && i >= 0 && e.SummaryIndex != d.summary[e.OutputIndex] {
			d.summary[e.OutputIndex] = e.SummaryIndex
			d.parts.Add(i, "\n\n")
		}
		err = d.delta(e)
	case "response.output_item.done":
		err = d.done(e)
	case "response.completed", "response.incomplete":
		if err = d.atOnce(e.Response); err == nil {
			return d.end(e, strings.TrimPrefix(e.Type, "response.")), true, nil
		}
	case "response.failed":
		failed := data
		if e.Response != nil && len(e.Response.Error) > 0 {
			failed = e.Response.Error
		}
		err = wire.ParseSaid(failed)
	case "error":
		err = wire.ParseSaid(data)
	case "":
		if said := wire.ParseSaid(data); said.Found() {
			err = said
		}
	}
	return d.parts.Take(), false, err
}

func isOwnKind(kind string) bool {
	return strings.HasPrefix(kind, "response.output_") || strings.HasPrefix(kind, "response.function_call_arguments") ||
		strings.HasPrefix(kind, "response.reasoning") || kind == "response.completed" || kind == "response.incomplete" ||
		kind == "response.failed" || kind == "response.refusal.delta"
}

func (d *decoder) added(e event) error {
	var it item
	if err := json.Unmarshal(e.Item, &it); err != nil {
		return wire.Garbled("an item is not JSON: %v", err)
	}
	if _, twice := d.items[e.OutputIndex]; twice {
		return wire.Garbled("item %d begins twice", e.OutputIndex)
	}
	i := -1
	switch it.Type {
	case "message":
		i = d.parts.Open(llm.Text)
	case "reasoning":
		i = d.parts.Open(llm.Thinking)
	case "web_search_call":
		i = d.parts.Open(llm.Search)
	case "function_call":
		if it.CallID == "" {
			it.CallID = wire.NewCallID()
		}
		i = d.parts.OpenCall(it.CallID, it.Name)
	}
	d.items[e.OutputIndex] = i
	return nil
}

func (d *decoder) delta(e event) error {
	i, ok := d.items[e.OutputIndex]
	if !ok {
		return wire.Garbled("item %d continues but never began", e.OutputIndex)
	}
	if i >= 0 {
		d.parts.Add(i, e.Delta)
	}
	return nil
}

func (d *decoder) done(e event) error {
	if _, ok := d.items[e.OutputIndex]; !ok {
		if err := d.added(e); err != nil { // it came at once
			return err
		}
	}
	i := d.items[e.OutputIndex]
	if i < 0 {
		return nil
	}
	var it item
	if err := json.Unmarshal(e.Item, &it); err != nil {
		return wire.Garbled("an item is not JSON: %v", err)
	}
	switch it.Type {
	case "reasoning":
		d.keep(i, e.Item)
	case "web_search_call":
		d.looked(i, it, e.Item)
		return nil
	}
	if it.Phase != "" {
		if kept, err := wire.Marshal(spoken{it.Phase}); err == nil {
			d.parts.Keep(i, kept)
		}
	}
	for _, c := range it.Content {
		d.refused = d.refused || c.Type == "refusal"
		for _, a := range c.Annotations {
			if a.Type == "url_citation" {
				d.parts.Cite(i, llm.Source{URL: a.URL, Title: a.Title})
			}
		}
	}
	if d.parts.Len(i) == 0 && it.Type != "reasoning" { // no deltas came
		d.parts.Add(i, wire.Arguments(it.Arguments))
		for _, c := range it.Content {
			d.parts.Add(i, c.Text+c.Refusal)
		}
	}
	d.parts.Done(i)
	return nil
}

// looked ends what the vendor looked up. It goes back as it came, with what it was
// thought for.
func (d *decoder) looked(i int, it item, raw json.RawMessage) {
	d.parts.Keep(i, raw)
	query := it.Action.Query
	if query == "" && len(it.Action.Queries) > 0 {
		query = strings.Join(it.Action.Queries, "; ")
	}
	query = cmp.Or(query, it.Action.URL)
	d.parts.Note(i, query)
	if it.Action.Type == "search" || it.Action.Type == "" {
		d.searches++
	}
	d.parts.Done(i)
}

// keep keeps of a thought what the vendor wants back; without the encrypted
// content it would look for the item in its own store, where it is not.
func (d *decoder) keep(i int, raw json.RawMessage) {
	var thought struct {
		Type      string            `json:"type"`
		ID        string            `json:"id"`
		Summary   []json.RawMessage `json:"summary"`
		Content   []json.RawMessage `json:"content,omitempty"`
		Encrypted string            `json:"encrypted_content"`
	}
	if json.Unmarshal(raw, &thought) != nil || thought.Encrypted == "" {
		return
	}
	if thought.Summary == nil {
		thought.Summary = []json.RawMessage{}
	}
	if kept, err := wire.Marshal(thought); err == nil {
		d.parts.Keep(i, kept)
	}
}

// atOnce takes the items of an answer that came with its end alone, as some proxies send it.
func (d *decoder) atOnce(r *response) error {
	if r == nil || len(d.items) > 0 {
		return nil
	}
	for i, one := range r.Output {
		if err := d.done(event{OutputIndex: i, Item: one}); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) end(e event, raw string) []llm.Event {
	d.parts.DoneAll()
	events := d.parts.Take()
	d.finish = llm.Finish{Reason: llm.Stop, Raw: raw}
	if e.Response != nil && raw == "incomplete" {
		d.finish.Raw = e.Response.Incomplete.Reason
	}
	switch {
	case d.refused:
		d.finish = llm.Finish{Reason: llm.Error, Raw: "refusal"}
	case raw == "completed" && d.parts.Calls():
		d.finish.Reason = llm.ToolCalls
	case raw == "incomplete" && d.finish.Raw == "max_output_tokens":
		d.finish.Reason = llm.Length
	case raw == "incomplete":
		d.finish.Reason = llm.Error
	}
	d.finish.Raw = cmp.Or(d.finish.Raw, raw)
	if e.Response != nil && e.Response.Usage != nil {
		u := e.Response.Usage
		events = append(events, llm.Event{Type: llm.Used, Usage: &llm.Usage{
			Input:  wire.Rest(u.Input, u.Details.Cached, u.Details.Written),
			Output: u.Output, CacheRead: u.Details.Cached, CacheWrite: u.Details.Written,
			Reasoning: u.OutputDetails.Reasoning, Searches: d.searches,
		}})
	}
	return events
}

func (d *decoder) Close() ([]llm.Event, llm.Finish, bool) {
	return nil, d.finish, d.finish.Reason != ""
}
