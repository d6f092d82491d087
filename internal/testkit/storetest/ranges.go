package storetest

import (
	"fmt"
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

// testRanges is the list of the sources about ranges, on the store itself:
// context alone would not show a range that is too long.
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
