package httpapi

import (
	"strings"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/operation/public"
	"ramet/internal/turn/loop"
)

// Home tells of everybody who lives what the screens show, and what is asked.
func TestHomeOverHTTP(t *testing.T) {
	f := newFloor(t, calls)
	s := opened(t, f)
	ada := f.child(t, f.zero.ID, "ada")
	w := s.watch(t, "", "")
	s.good(t, "POST", "/api/v1/agents/ada/send", map[string]string{"body": "a letter"}, 201, nil)
	s.good(t, "POST", "/api/v1/agents/ada/prompt", promptBody{Text: "first\nof all"}, 202, nil)
	asked, _ := w.until(isType(loop.Asking, ada))
	var got public.Home
	s.good(t, "GET", "/api/v1/home", nil, 200, &got)
	if len(got.Rows) != 2 || got.Agents != 2 || got.Asking != 1 || len(got.Groups) != 4 || got.Groups[0] != (public.HomeGroup{Group: "needs you", Count: 1}) {
		t.Fatalf("%+v", got)
	}
	if r := got.Rows[0]; r.Name != "ada" || r.Does != "asks" || *r.Said != asked.Text || *r.Asked != "first of all" || strings.Join(r.Path, "/") != "0" {
		t.Errorf("who asks: %+v", r)
	}
	if zero := got.Rows[1]; zero.Group != "idle" || zero.Below != 1 || zero.Said != nil || zero.Path == nil {
		t.Errorf("who is idle: %+v", zero)
	}
	s.good(t, "POST", "/api/v1/permissions/"+asked.Ask, AnswerInput{Answer: "no"}, 204, nil)
	w.until(isType(loop.TurnEnded, ada))
}

// The lineage tells who was forked from whom and when, who is dead, what turned a history, and who
// wrote to whom.
func TestLineageOverHTTP(t *testing.T) {
	f := newFloor(t, ``)
	s := opened(t, f)
	ada := f.child(t, f.zero.ID, "ada")
	gone := f.child(t, ada, "gone")
	said, err := f.store.Append(t.Context(), ada, agent.Passing(), history.Draft{Kind: history.Mark, Meta: history.Meta{Label: "here"}},
		history.Draft{Kind: history.User, Parts: []history.Part{{Type: history.Text, Text: "wrong"}}})
	if err == nil {
		_, err = f.store.Append(t.Context(), ada, agent.Passing(), history.NewRewind(said[0].ID, "here"))
	}
	if err != nil {
		t.Fatal(err)
	}
	s.good(t, "POST", "/api/v1/agents/gone/send", map[string]string{"body": "a letter"}, 201, nil)
	s.good(t, "POST", "/api/v1/agents/gone/kill", map[string]any{"confirm": 1}, 200, nil)
	var got public.Lineage
	s.good(t, "GET", "/api/v1/lineage", nil, 200, &got)
	var names []string
	for _, a := range got.Agents {
		names = append(names, a.Name)
	}
	if strings.Join(names, " ") != "0 ada gone" || got.More {
		t.Fatalf("%+v", got)
	}
	if a := got.Agents[2]; *a.Parent != ada || !a.Killed || a.State.Word != "killed" || a.Until < a.From || a.Run {
		t.Errorf("the dead one: %+v", a)
	}
	if a := got.Agents[1]; a.Killed || *a.Parent != f.zero.ID || a.Until < a.From {
		t.Errorf("the living one: %+v", a)
	}
	if p := got.Points; len(p) != 2 || p[0].Kind != "mark" || *p[0].Text != "here" || p[1].Kind != "rewind" || *p[1].Target != said[0].ID || *p[1].Back != p[0].At || p[1].Agent != ada {
		t.Errorf("points: %+v", p)
	}
	if l := got.Letters; len(l) != 1 || l[0].From != nil || l[0].To != gone || l[0].Read {
		t.Errorf("letters: %+v", l)
	}
}
