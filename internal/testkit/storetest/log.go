package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

// TreeLog is an in-memory history.Log, for tests of the domain. Filling it is not
// safe for concurrent use; reading is.
type TreeLog struct {
	agents  map[id.Agent]history.Ancestor
	entries map[id.Agent][]history.Entry // ascending
	blobs   map[chain.Hash][]byte
	read    atomic.Int64
}

// NewTreeLog makes an empty one.
func NewTreeLog() *TreeLog {
	return &TreeLog{agents: map[id.Agent]history.Ancestor{}, entries: map[id.Agent][]history.Entry{},
		blobs: map[chain.Hash][]byte{}}
}

// DrawTree reads a drawing into a log.
func DrawTree(tb testing.TB, drawing string) *TreeLog {
	tb.Helper()
	t, err := ParseTree(drawing)
	if err != nil {
		tb.Fatalf("%v\n%s", err, drawing)
	}
	l := NewTreeLog()
	for _, a := range t.Agents {
		l.Fork(a.parent(), id.Agent(a.Name), a.ForkID())
		for _, s := range a.Steps {
			l.Append(id.Agent(a.Name), s.ID, s.Draft(nil))
		}
	}
	return l
}

func (a *TreeAgent) parent() id.Agent {
	if a.Parent == nil {
		return ""
	}
	return id.Agent(a.Parent.Name)
}

// Draft is the entry to append. real gives the stored id for one of the
// drawing; nil for as drawn.
func (s *TreeStep) Draft(real func(id.Message) id.Message) history.Draft {
	if real == nil {
		real = func(m id.Message) id.Message { return m }
	}
	d := history.Draft{Kind: s.Kind}
	switch {
	case s.Kind.Reaches():
		d.Parts = []history.Part{{Type: history.Text, Text: s.Name()}}
	case s.Kind == history.Mark:
		d.Meta.Label = s.Label
	case s.Kind == history.Rewind:
		d = history.NewRewind(real(s.Target), s.Label)
	case s.Kind == history.Compact:
		d.Parts = []history.Part{{Type: history.Text, Text: s.Summary()}}
		d.Meta = history.Meta{StartID: real(s.First).String(), EndID: real(s.End).String()}
	}
	return d
}

// Summary is the text of a compact: [m1..m3].
func (s *TreeStep) Summary() string { return "[m" + s.First.String() + "..m" + s.End.String() + "]" }

// Fork adds an agent; the root has no parent.
func (l *TreeLog) Fork(parent, child id.Agent, at id.Message) {
	l.agents[child] = history.Ancestor{Agent: child, Parent: parent, ForkMessage: at}
}

// start is when the histories of this package begin.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Append adds an entry, a second after the one before.
func (l *TreeLog) Append(a id.Agent, m id.Message, d history.Draft) history.Entry {
	content, blobs, err := history.Encode(d.Parts)
	if err != nil {
		panic(err) // the drawings hold nothing that could fail
	}
	meta, err := json.Marshal(d.Meta)
	if err != nil {
		panic(err)
	}
	for _, b := range blobs {
		l.blobs[b.Hash] = b.Data
	}
	e := history.Entry{ID: m, Agent: a, Kind: d.Kind, Content: content, Meta: meta,
		CreatedAt: start.Add(time.Duration(m) * time.Second)}
	l.entries[a] = append(l.entries[a], e)
	return e
}

// Retime gives every entry another time.
func (l *TreeLog) Retime(clock func(id.Message) time.Time) {
	for _, list := range l.entries {
		for i := range list {
			list[i].CreatedAt = clock(list[i].ID)
		}
	}
}

// Replace swaps an entry for another of the same id, as damage would.
func (l *TreeLog) Replace(e history.Entry) {
	for i, old := range l.entries[e.Agent] {
		if old.ID == e.ID {
			l.entries[e.Agent][i] = e
		}
	}
}

// Read returns the number of entries read since the last call.
func (l *TreeLog) Read() int64 { return l.read.Swap(0) }

// Lineage implements history.Log.
func (l *TreeLog) Lineage(_ context.Context, leaf id.Agent) ([]history.Ancestor, error) {
	var out []history.Ancestor
	for a, ok := l.agents[leaf]; ok; a, ok = l.agents[a.Parent] {
		out = append(out, a)
	}
	if len(out) == 0 {
		return nil, fault.New(fault.NotFound, "no agent %q", leaf)
	}
	return out, nil
}

// FindClear implements history.Log.
func (l *TreeLog) FindClear(_ context.Context, a id.Agent, within history.Bound) (id.Message, bool, error) {
	list := l.entries[a]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Kind == history.Clear && within.Admits(list[i].ID) {
			return list[i].ID, true, nil
		}
	}
	return 0, false, nil
}

// QueryRange implements history.Log.
func (l *TreeLog) QueryRange(_ context.Context, r history.Range, s history.Selection) iter.Seq2[history.Entry, error] {
	list := l.entries[r.Agent]
	var out []history.Entry
	for _, e := range list[sort.Search(len(list), func(i int) bool { return list[i].ID > r.Start }):] {
		if r.Holds(e.ID) && (!s.Shaping || e.Kind.Shapes()) && (!s.States || e.Kind == history.Files) && (!s.Told || told(e)) && (s.States || s.Shaping || s.Newest == 0 || s.Any || e.Kind.Reaches()) {
			out = append(out, e)
		}
	}
	if s.Newest > 0 {
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
		out = out[:min(s.Newest, len(out))]
	}
	return func(yield func(history.Entry, error) bool) {
		for _, e := range out {
			l.read.Add(1)
			if !yield(e, nil) {
				return
			}
		}
	}
}

// told reports whether an entry records model calls of another program.
func told(e history.Entry) bool {
	m, err := e.Decode()
	return err == nil && e.Kind == history.Usage && m.Driver != nil
}

// Entry implements history.Log.
func (l *TreeLog) Entry(_ context.Context, m id.Message) (history.Entry, error) {
	for _, list := range l.entries {
		for _, e := range list {
			if e.ID == m {
				return e, nil
			}
		}
	}
	return history.Entry{}, fault.New(fault.NotFound, "no message %d", m)
}

// Blob implements history.Log.
func (l *TreeLog) Blob(_ context.Context, h chain.Hash) ([]byte, error) {
	if b, ok := l.blobs[h]; ok {
		return b, nil
	}
	return nil, fault.New(fault.HistoryDamaged, "blob %s is missing", h)
}

// TreeTexts are the messages of a context by their texts, in one line: as the
// drawing names them.
func TreeTexts(tb testing.TB, messages []history.Entry) string {
	tb.Helper()
	out := ""
	for i, e := range messages {
		parts := testkit.Must(e.Parts())(tb)
		if i > 0 {
			out += " "
		}
		out += history.Plain(parts)
	}
	return out
}

// testRanges compares the ranges that the store reads with the list of the source documents.
// Context alone would not show a range that is too long.
func testRanges(t *testing.T, w *Workspace) {
	d := open(t, w)
	e := d.append(d.zero, text(history.User, "a"), history.NewClear(), text(history.User, "b"), text(history.Note, "n"),
		text(history.User, "c"), history.NewClear(), text(history.User, "d"))
	kid := d.fork(d.zero, "")[0]
	grand := d.fork(kid.ID, "")[0]
	d.append(d.zero, history.NewClear())
	mine := d.append(kid.ID, history.Draft{Kind: history.Mark}, text(history.User, "e"))

	clear := func(a id.Agent, within history.Bound) id.Message {
		t.Helper()
		m, found, err := d.s.FindClear(background, a, within)
		if err != nil || found != (m != 0) {
			t.Errorf("find clear: %d %v %v", m, found, err)
		}
		return m
	}
	equal(t, "the most recent clear", clear(d.zero, history.UpTo(kid.ForkMessage)), e[5].ID)
	equal(t, "within a limit", clear(d.zero, history.UpTo(e[4].ID)), e[1].ID)
	equal(t, "exactly at a limit", clear(d.zero, history.UpTo(e[1].ID)), e[1].ID)
	equal(t, "before the first", clear(d.zero, history.UpTo(e[0].ID)), 0)
	equal(t, "limit 0 is a limit (Trap 1)", clear(d.zero, history.UpTo(0)), 0)
	equal(t, "none", clear(kid.ID, history.NoLimit), 0)

	built := testkit.Must(history.BuildRanges(background, d.s, grand.ID))(t)
	want := []history.Range{
		{Agent: d.zero, Start: e[5].ID, End: history.UpTo(e[6].ID)},
		{Agent: kid.ID, End: history.UpTo(kid.Genesis)},
		{Agent: grand.ID},
	}
	equal(t, "ranges", fmt.Sprint(built), fmt.Sprint(want))

	query := func(r history.Range, s history.Selection) string {
		t.Helper()
		var out []string
		for e, err := range d.s.QueryRange(background, r, s) {
			testkit.OK(t, err)
			out = append(out, e.ID.String())
		}
		return strings.Join(out, " ")
	}
	ids := func(entries ...history.Entry) string {
		var out []string
		for _, e := range entries {
			out = append(out, e.ID.String())
		}
		return strings.Join(out, " ")
	}
	within := history.Range{Agent: d.zero, Start: e[1].ID, End: history.UpTo(e[5].ID)}
	equal(t, "start exclusive, end inclusive", query(within, history.Selection{}), ids(e[2:6]...))
	equal(t, "shaping only", query(within, history.Selection{Shaping: true}), ids(e[5]))
	equal(t, "shaping only, backwards", query(history.Range{Agent: d.zero, End: history.UpTo(e[5].ID)}, history.Selection{Shaping: true, Newest: 9}), ids(e[5], e[1]))
	equal(t, "the newest that shapes", query(history.Range{Agent: d.zero, End: history.UpTo(e[5].ID)}, history.Selection{Shaping: true, Newest: 1}), ids(e[5]))
	equal(t, "words", query(within, history.Selection{Words: true}), ids(e[2], e[4]))
	equal(t, "newest", query(within, history.Selection{Newest: 1}), ids(e[4]))
	equal(t, "newest, all there are", query(within, history.Selection{Newest: 9}), ids(e[4], e[2]))
	equal(t, "newest of any kind", query(within, history.Selection{Newest: 2, Any: true}), ids(e[5], e[4]))
	equal(t, "end 0 is empty (Trap 1)", query(history.Range{Agent: d.zero, End: history.UpTo(0)}, history.Selection{}), "")
	equal(t, "no limit", query(history.Range{Agent: kid.ID, Start: kid.Head}, history.Selection{}), ids(append(d.own(kid.ID)[1:2], mine...)...))
	equal(t, "an unknown agent has none", query(history.Range{Agent: id.NewAgent()}, history.Selection{}), "")
	for range d.s.QueryRange(background, within, history.Selection{}) {
		break // and the connection is free again
	}
	equal(t, "context of the grandchild", d.context(grand.ID), "d")

	said := history.Used{Model: "a/b", Input: 1}
	told := d.append(kid.ID, usage(5, 5),
		history.Draft{Kind: history.Usage, Meta: history.Meta{Driver: &history.Driver{Name: "claude", Attested: history.FromFile, Used: &said}}},
		history.Draft{Kind: history.Files, Meta: history.Meta{Files: &history.State{}}},
		text(history.User, `"driver":`))
	all := history.Range{Agent: kid.ID}
	equal(t, "told by other programs", query(all, history.Selection{Told: true}), ids(told[1]))
	equal(t, "states of files", query(all, history.Selection{States: true}), ids(told[2]))
	equal(t, "the newest state", query(all, history.Selection{States: true, Newest: 1}), ids(told[2]))
}
