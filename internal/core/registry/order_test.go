package registry_test

import (
	"context"
	"iter"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
)

// orderLog is a history.Log of commands, by agent. An error takes the place of an entry.
type orderLog struct {
	history.Log
	line    []history.Ancestor
	entries map[id.Agent][]any
}

func (l orderLog) Lineage(context.Context, id.Agent) ([]history.Ancestor, error) { return l.line, nil }

func (l orderLog) QueryRange(_ context.Context, r history.Range, _ history.Selection) iter.Seq2[history.Entry, error] {
	return func(yield func(history.Entry, error) bool) {
		for n, e := range l.entries[r.Agent] {
			m := id.Message(n + 1)
			if err, ok := e.(error); ok {
				yield(history.Entry{}, err)
				return
			}
			if r.End.Admits(m) && !yield(history.Entry{ID: m, Agent: r.Agent, Kind: history.Command, Meta: []byte(e.(string))}, nil) {
				return
			}
		}
	}
}

func TestLastOrder(t *testing.T) {
	const low, high = `{"command":"effort","label":"low"}`, `{"command":"effort","label":"high"}`
	line := []history.Ancestor{{Agent: "child", ForkMessage: 1}, {Agent: "parent"}}
	broken := fault.New(fault.StorageIO, "the disk fails")
	for name, c := range map[string]struct {
		entries map[id.Agent][]any
		want    string
		of      id.Agent
		code    fault.Code
	}{
		"none":                      {map[id.Agent][]any{"child": {`{"command":"mode"}`}}, "", "", ""},
		"its own newest":            {map[id.Agent][]any{"child": {low, high}, "parent": {low}}, high, "child", ""},
		"its parent's":              {map[id.Agent][]any{"parent": {low}}, low, "parent", ""},
		"its parent's after a fork": {map[id.Agent][]any{"parent": {low, high}}, low, "parent", ""},
		"a read fails":              {map[id.Agent][]any{"child": {broken}, "parent": {low}}, "", "", fault.StorageIO},
		"an entry is damaged":       {map[id.Agent][]any{"child": {`{`}, "parent": {low}}, "", "", fault.HistoryDamaged},
	} {
		is := func(m history.Meta) bool { return m.Command == "effort" }
		got, of, err := registry.LastOrder(t.Context(), orderLog{line: line, entries: c.entries}, "child", is)
		var want history.Meta
		if c.want != "" {
			want, _ = history.Entry{Meta: []byte(c.want)}.Decode()
		}
		if got.Label != want.Label || of != c.of || c.code == "" && err != nil || c.code != "" && !fault.Is(err, c.code) {
			t.Errorf("%s: %q of %q, %v", name, got.Label, of, err)
		}
	}
}
