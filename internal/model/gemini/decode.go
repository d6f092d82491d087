package gemini

import (
	"encoding/json"
	"strings"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

type decoder struct {
	parts   wire.Parts
	open    int // the text or thought being written, -1 for none
	thought bool
	reason  string

	queries  []string
	pages    []llm.Source // that the answer rests on
	searched int64        // what is charged for
	perQuery bool         // each query is charged for, not each answer
	told     bool         // the server told what it looked for
}

// grounding holds the sources of an answer.
type grounding struct {
	Queries []string `json:"webSearchQueries"`
	Chunks  []struct {
		Web struct {
			URI   string `json:"uri"`
			Title string `json:"title"`
		} `json:"web"`
	} `json:"groundingChunks"`
}

type chunk struct {
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text      string `json:"text"`
				Thought   bool   `json:"thought"`
				Signature string `json:"thoughtSignature"`
				Call      *struct {
					ID   string          `json:"id"`
					Name string          `json:"name"`
					Args json.RawMessage `json:"args"`
				} `json:"functionCall"`
				Served json.RawMessage `json:"toolCall"`
				Came   json.RawMessage `json:"toolResponse"`
			} `json:"parts"`
		} `json:"content"`
		FinishReason string    `json:"finishReason"`
		Grounding    grounding `json:"groundingMetadata"`
	} `json:"candidates"`
	Feedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt     int64 `json:"promptTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
		ToolPrompt int64 `json:"toolUsePromptTokenCount"`
	} `json:"usageMetadata"`
	Error json.RawMessage `json:"error"`
}

func (d *decoder) Next(_ string, data []byte) ([]llm.Event, bool, error) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, false, wire.Garbled("a chunk is not JSON of the protocol: %v", err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return nil, false, wire.ParseSaid(data)
	}
	for _, candidate := range c.Candidates[:min(len(c.Candidates), 1)] {
		for _, p := range candidate.Content.Parts {
			if p.Call != nil {
				d.call(p.Call.ID, p.Call.Name, p.Call.Args, p.Signature)
				continue
			}
			if s, ok := servedIn(p.Served, p.Came); ok {
				d.serve(s, p.Signature)
				continue
			}
			d.write(p.Text, p.Thought, p.Signature)
		}
		d.ground(candidate.Grounding)
		if candidate.FinishReason != "" {
			d.reason = candidate.FinishReason
		}
	}
	if c.Feedback.BlockReason != "" {
		d.reason = c.Feedback.BlockReason
	}
	events := d.parts.Take()
	if u := c.Usage; u != nil {
		events = append(events, llm.Event{Type: llm.Used, Usage: &llm.Usage{
			Input:  wire.Rest(u.Prompt+u.ToolPrompt, u.Cached),
			Output: u.Candidates + u.Thoughts, CacheRead: u.Cached, Reasoning: u.Thoughts, Searches: d.searched,
		}})
	}
	return events, false, nil
}

// write goes on with a text or a thought; a signature ends it.
func (d *decoder) write(text string, thought bool, signature string) {
	if text == "" && signature == "" {
		return
	}
	if d.open >= 0 && d.thought != thought {
		d.shut()
	}
	if d.open < 0 {
		kind := llm.Text
		if thought {
			kind = llm.Thinking
		}
		d.open, d.thought = d.parts.Open(kind), thought
	}
	d.parts.Add(d.open, text)
	if signature != "" {
		d.parts.Sign(d.open, signature)
		d.shut()
	}
}

func (d *decoder) shut() {
	if d.open >= 0 {
		d.parts.Done(d.open)
	}
	d.open = -1
}

func (d *decoder) call(id, name string, args json.RawMessage, signature string) {
	d.shut()
	if id == "" {
		id = wire.NewCallID()
	}
	i := d.parts.OpenCall(id, name)
	if string(args) != "null" {
		d.parts.Add(i, string(args))
	}
	d.parts.Sign(i, signature)
	d.parts.Done(i)
}

func (d *decoder) Close() ([]llm.Event, llm.Finish, bool) {
	if d.reason == "" {
		return nil, llm.Finish{}, false
	}
	d.cite()
	d.parts.DoneAll()
	finish := llm.Finish{Reason: llm.Error, Raw: d.reason} // SAFETY, RECITATION, MALFORMED_FUNCTION_CALL …
	switch {
	case d.reason == "STOP" && d.parts.Calls():
		finish.Reason = llm.ToolCalls
	case d.reason == "STOP":
		finish.Reason = llm.Stop
	case d.reason == "MAX_TOKENS":
		finish.Reason = llm.Length
	}
	return d.parts.Take(), finish, true
}

// served is a call that the server made itself, or its result. It is sent back as
// it came.
type served struct {
	Call     json.RawMessage `json:"toolCall,omitempty"`
	Response json.RawMessage `json:"toolResponse,omitempty"`
}

// servedIn returns the server's own call or result in a part; ok is false if there is none.
func servedIn(call, response json.RawMessage) (s served, ok bool) {
	if string(call) != "null" {
		s.Call = call
	}
	if string(response) != "null" {
		s.Response = response
	}
	return s, len(s.Call)+len(s.Response) > 0
}

// queries returns what was looked for.
func (s served) queries() string {
	var call struct {
		Args struct {
			Query   string   `json:"query"`
			Queries []string `json:"queries"`
		} `json:"args"`
	}
	json.Unmarshal(s.Call, &call) // what is none says nothing of it
	if call.Args.Query != "" {
		return call.Args.Query
	}
	return strings.Join(call.Args.Queries, "; ")
}

// keptSearch returns what a part keeps of it; ok is false where it keeps nothing, or another's.
func keptSearch(p llm.Part) (s served, ok bool) {
	if p.Origin != Origin || p.Opaque == nil || json.Unmarshal(p.Opaque, &s) != nil {
		return served{}, false
	}
	return servedIn(s.Call, s.Response)
}

// serve keeps what the server called by itself.
func (d *decoder) serve(s served, signature string) {
	d.shut()
	kept, err := wire.Marshal(s)
	if err != nil {
		return
	}
	i := d.parts.Open(llm.Search)
	d.parts.Note(i, s.queries())
	d.parts.Keep(i, kept)
	d.parts.Sign(i, signature)
	d.parts.Done(i)
	d.told = true
}

// ground takes what the answer rests on. What comes later is whole.
func (d *decoder) ground(g grounding) {
	if len(g.Chunks)+len(g.Queries) == 0 {
		return
	}
	d.pages, d.queries, d.searched = nil, g.Queries, 1
	if d.perQuery {
		d.searched = max(int64(len(g.Queries)), 1)
	}
	for _, one := range g.Chunks {
		d.pages = append(d.pages, llm.Source{URL: one.Web.URI, Title: one.Web.Title})
	}
}

// cite ends an answer with what it rests on: its text may have been handed on
// already.
func (d *decoder) cite() {
	if d.searched == 0 {
		return
	}
	i := d.parts.Open(llm.Search)
	if !d.told {
		d.parts.Note(i, strings.Join(d.queries, "; "))
	}
	for _, page := range d.pages {
		d.parts.Cite(i, page)
	}
}
