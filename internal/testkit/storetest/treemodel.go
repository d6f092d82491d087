package storetest

import (
	"slices"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// TreeModel is a second opinion on what a context is, as naive as can be: every
// agent keeps a whole copy of its context as it was after each of its entries,
// and a fork copies all of that. It has no ranges, no walk and no outline.
type TreeModel struct {
	lives map[id.Agent]*life
}

type life struct {
	moments []moment // since the last clear, inherited ones included
	marks   []history.Label
	own     int64
}

type moment struct {
	at      id.Message
	context []TreeItem
}

// TreeItem is one message of a context, or a summary for those from First to End.
type TreeItem struct {
	ID         id.Message
	First, End id.Message
	Summary    bool
	Short      bool
}

// NewTreeModel makes one with a root that has no entries.
func NewTreeModel(root id.Agent) *TreeModel {
	return &TreeModel{lives: map[id.Agent]*life{root: {moments: []moment{{}}}}}
}

// Fork gives a child everything its parent has.
func (m *TreeModel) Fork(parent, child id.Agent) {
	p := m.lives[parent]
	c := &life{marks: slices.Clone(p.marks)}
	for _, o := range p.moments {
		c.moments = append(c.moments, moment{o.at, slices.Clone(o.context)})
	}
	m.lives[child] = c
}

// Context returns the context of the agent.
func (m *TreeModel) Context(a id.Agent) []TreeItem {
	l := m.lives[a]
	return l.moments[len(l.moments)-1].context
}

// Own returns the number of its own entries that reach the model.
func (m *TreeModel) Own(a id.Agent) int64 { return m.lives[a].own }

// Wall is the last clear, 0 if there is none.
func (m *TreeModel) Wall(a id.Agent) id.Message { return m.lives[a].moments[0].at }

// Reachable are the entries a rewind may go to.
func (m *TreeModel) Reachable(a id.Agent) []id.Message {
	var out []id.Message
	for _, o := range m.lives[a].moments {
		if o.at > 0 {
			out = append(out, o.at)
		}
	}
	return out
}

// Marked finds the newest mark of a label, or of any.
func (m *TreeModel) Marked(a id.Agent, label string) (id.Message, bool) {
	for _, o := range slices.Backward(m.lives[a].marks) {
		if label == "" || o.Label == label {
			return o.ID, true
		}
	}
	return 0, false
}

func (l *life) now(at id.Message, context []TreeItem) {
	l.moments = append(l.moments, moment{at, slices.Clone(context)})
}

// Append takes an entry of any kind but rewind and compact.
func (m *TreeModel) Append(a id.Agent, at id.Message, k history.Kind, label string) {
	l := m.lives[a]
	context := m.Context(a)
	switch {
	case k.Reaches():
		l.own++
		context = append(slices.Clone(context), TreeItem{ID: at, First: at, End: at})
	case k == history.Clear:
		l.moments, l.marks, context = nil, nil, nil
	case k == history.Mark:
		l.marks = append(l.marks, history.Label{ID: at, Label: label})
	}
	l.now(at, context)
}

// Rewind goes back; false if the target cannot be reached.
func (m *TreeModel) Rewind(a id.Agent, at, target id.Message) bool {
	l := m.lives[a]
	for _, o := range l.moments {
		if o.at == target && target > 0 {
			l.now(at, o.context)
			return true
		}
	}
	return false
}

// MayCompact reports whether the messages from first to end may be replaced.
func (m *TreeModel) MayCompact(a id.Agent, first, end id.Message) bool {
	l := m.lives[a]
	if first > end || first <= m.Wall(a) || end > l.moments[len(l.moments)-1].at {
		return false
	}
	for _, i := range m.Context(a) {
		if i.First <= end && i.End >= first && (i.First < first || i.End > end) {
			return false // a part of an earlier summary
		}
	}
	return true
}

// Compact replaces messages by a summary, before which some stay; false if MayCompact is,
// or one of these is not there.
func (m *TreeModel) Compact(a id.Agent, at, first, end id.Message, keep ...id.Message) bool {
	if !m.MayCompact(a, first, end) {
		return false
	}
	var before, kept, after []TreeItem
	for _, i := range m.Context(a) {
		switch {
		case i.End < first:
			before = append(before, i)
		case i.First > end:
			after = append(after, i)
		case !i.Summary && slices.Contains(keep, i.ID):
			kept = append(kept, i)
		}
	}
	if len(kept) < len(keep) {
		return false
	}
	summary := TreeItem{ID: at, First: first, End: end, Summary: true}
	m.lives[a].now(at, slices.Concat(before, kept, []TreeItem{summary}, after))
	return true
}

// Shorten has messages of the context shown in a short form; false if one is not there.
func (m *TreeModel) Shorten(a id.Agent, at id.Message, short ...id.Message) bool {
	context := slices.Clone(m.Context(a))
	for _, one := range short {
		i := slices.IndexFunc(context, func(i TreeItem) bool { return i.ID == one && !i.Summary })
		if i < 0 {
			return false
		}
		context[i].Short = true
	}
	m.lives[a].now(at, context)
	return true
}

// SameTree reports whether a replayed context equals that of the model.
func SameTree(model []TreeItem, replayed []history.Entry) bool {
	return slices.EqualFunc(model, replayed, func(i TreeItem, e history.Entry) bool {
		return i.ID == e.ID && i.Summary == (e.Kind == history.Compact)
	})
}
