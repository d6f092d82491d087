package httpapi

import (
	"strings"
	"testing"

	"ramet/internal/loop"
	"ramet/internal/public"
)

// Home tells of everybody who lives what the screens show, and what is asked.
func TestHomeOverHTTP(t *testing.T) {
	f := newFloor(t, calls)
	s := opened(t, f)
	ada := f.child(t, f.zero.ID, "ada")
	w := s.watch(t, "", "")
	s.good(t, "POST", "/api/v1/agents/ada/send", map[string]string{"body": "a letter"}, 201, nil)
	s.good(t, "POST", "/api/v1/agents/ada/prompt", PromptInput{Text: "first\nof all"}, 202, nil)
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
