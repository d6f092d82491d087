package gemini

import (
	"encoding/json"
	"strings"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

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
