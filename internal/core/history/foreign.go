package history

import (
	"context"
	"iter"
	"slices"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
)

// ForeignCommand marks that an agent took in content that neither its user nor its project wrote: Foreign.
const ForeignCommand = "foreign"

// longestSource bounds the name of a source.
const longestSource = 200

// NewForeign drafts the mark of an agent that took in foreign content. Sources are hosts (also with the path of a page),
// MCP servers as mcp:NAME, and words for all else.
func NewForeign(sources ...string) Draft {
	m := Meta{Command: ForeignCommand}
	for _, s := range sources {
		m.Foreign = append(m.Foreign, text.Line(text.Storable(s), longestSource))
	}
	return Draft{Kind: Command, Meta: m}
}

// Orders reads what was written about agents beside their conversations.
type Orders interface {
	Lineage(ctx context.Context, leaf id.Agent) ([]Ancestor, error)
	QueryRange(ctx context.Context, r Range, s Selection) iter.Seq2[Entry, error]
}

// ForeignOf returns where the foreign content in the context of an agent came from, as ForeignIn does.
func ForeignOf(ctx context.Context, log Orders, leaf id.Agent) ([]string, error) {
	line, err := log.Lineage(ctx, leaf)
	if err != nil {
		return nil, err
	}
	read := func(what Selection) (map[id.Agent][]Entry, error) {
		out, end := map[id.Agent][]Entry{}, NoLimit
		for _, one := range line {
			for e, err := range log.QueryRange(ctx, Range{Agent: one.Agent, End: end}, what) {
				if err != nil {
					return nil, err
				}
				out[one.Agent] = append(out[one.Agent], e)
			}
			end = UpTo(one.ForkMessage)
		}
		return out, nil
	}
	marks, err := read(Selection{Orders: true})
	if err != nil {
		return nil, err
	}
	if sources, err := ForeignIn(line, marks, nil); err != nil || len(sources) == 0 {
		return nil, err
	}
	shaping, err := read(Selection{Shaping: true})
	if err != nil {
		return nil, err
	}
	return ForeignIn(line, marks, shaping)
}

// ForeignIn returns where the foreign content in the context of a lineage came from, in order; the agent is its first.
// marks and shaping are entries of each agent by id, others than marks, clears and rewinds may be among them. A child
// has what its parent had read when it was forked. Only a person's clear or rewind ends a mark: what a model writes after
// it read something may repeat it, also in the task of a child that knows nothing else.
func ForeignIn(line []Ancestor, marks, shaping map[id.Agent][]Entry) ([]string, error) {
	type marked struct {
		at      id.Message
		sources []string
	}
	var all []marked
	var outline Outline
	ends := make([]Bound, len(line))
	for i := range line[:max(0, len(line)-1)] {
		ends[i+1] = UpTo(line[i].ForkMessage)
	}
	for i, one := range slices.Backward(line) {
		for _, e := range marks[one.Agent] {
			if e.Kind != Command || !ends[i].Admits(e.ID) {
				continue
			}
			m, err := e.Decode()
			if err != nil {
				return nil, err
			}
			if m.Command == ForeignCommand {
				all = append(all, marked{e.ID, m.Foreign})
			}
		}
		for _, e := range shaping[one.Agent] {
			if e.Kind != Clear && e.Kind != Rewind || !ends[i].Admits(e.ID) {
				continue
			}
			if m, err := e.Decode(); err != nil {
				return nil, err
			} else if m.Actor == nil {
				continue
			}
			if err := outline.Apply(e); err != nil {
				return nil, err
			}
		}
	}
	var out []string
	spans := outline.Spans()
	for _, one := range all {
		if !slices.ContainsFunc(spans, func(s Span) bool { return one.at > s.Start && s.End.Admits(one.at) }) {
			continue
		}
		for _, s := range one.sources {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out, nil
}
