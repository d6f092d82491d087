package storetest

import (
	"fmt"
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

// testTies: what shaped everybody's histories and the letters between them, the newest of each.
func testTies(t *testing.T, w *Workspace) {
	d := open(t, w)
	said := d.append(d.zero, text(history.User, "one"), history.Draft{Kind: history.Mark, Meta: history.Meta{Label: "here"}})
	child := d.fork(d.zero, "child")[0].ID
	back := d.append(child, text(history.User, "two"), history.NewRewind(said[0].ID, "here"))
	first := testkit.Must(d.s.Send(background, registry.Send{From: child, To: d.zero, Body: "a secret"}))(t)
	second := testkit.Must(d.s.Send(background, registry.Send{To: child, Body: "from the user"}))(t)

	got := testkit.Must(d.s.Ties(background, 10))(t)
	var told []string
	for _, e := range got.Shaping {
		told = append(told, fmt.Sprint(e.ID, e.Agent, e.Kind))
	}
	for _, l := range got.Letters {
		told = append(told, fmt.Sprint(l.ID, l.From, l.To, l.Body))
	}
	equal(t, "all that is told", strings.Join(told, "\n"), strings.Join([]string{fmt.Sprint(said[1].ID, d.zero, history.Mark), fmt.Sprint(back[1].ID, child, history.Rewind),
		fmt.Sprint(first.ID, child, d.zero, ""), fmt.Sprint(second.ID, id.Agent(""), child, "")}, "\n"))
	equal(t, "when that was said to which it goes back", got.Times[said[0].ID].Equal(said[0].CreatedAt), true)
	equal(t, "more", got.More, false)
	few := testkit.Must(d.s.Ties(background, 1))(t)
	equal(t, "the newest only", fmt.Sprint(len(few.Shaping), few.Shaping[0].ID, len(few.Letters), few.Letters[0].ID, few.More), fmt.Sprint(1, back[1].ID, 1, second.ID, true))
}
