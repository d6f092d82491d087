package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

func TestWhatAServerAsksIsAQuestionToThePerson(t *testing.T) {
	p := served(t, "good")
	ctx := For(t.Context(), "agent", "call")
	confirm := func() string {
		r := testkit.Must(p.Call(ctx, "srv", "confirm", nil))(t)
		return r.Text
	}
	if got := confirm(); got != "decline map[]" {
		t.Errorf("where nobody can be asked: %s", got)
	}
	var asked []string
	answers := []permit.Verdict{{Choice: "1"}, {Choice: permit.Because, Words: "3"}}
	p.Attend(func(_ context.Context, q permit.Question) (permit.Verdict, error) {
		if q.Agent != "agent" || q.CallID != "call" {
			t.Errorf("for %s %s", q.Agent, q.CallID)
		}
		asked = append(asked, q.Says)
		v := answers[0]
		answers = answers[1:]
		return v, nil
	})
	if got := confirm(); got != "accept map[sure:true times:3]" {
		t.Errorf("%s", got)
	}
	if len(asked) != 2 || !strings.Contains(asked[0], "The MCP server srv asks: Really?") || !strings.Contains(asked[1], "how often") {
		t.Errorf("%q", asked)
	}
	// What need not be known may be left out, what must be declines, and words that are no such value are no answer.
	answers = []permit.Verdict{{Choice: "2"}, {Choice: permit.Because, Words: "often"}}
	if got := confirm(); got != "accept map[sure:false]" {
		t.Errorf("%s", got)
	}
	answers = []permit.Verdict{{Choice: permit.Refuse}}
	if got := confirm(); got != "decline map[]" {
		t.Errorf("%s", got)
	}
	p.Attend(func(context.Context, permit.Question) (permit.Verdict, error) {
		return permit.Verdict{}, fault.New(fault.Denied, "nobody")
	})
	if got := confirm(); got != "decline map[]" {
		t.Errorf("%s", got)
	}
}

// A form of which nothing must be filled in is not accepted by saying nothing: where nobody is there, or a
// person refuses.
func TestSilenceAcceptsNothing(t *testing.T) {
	p := served(t, "good")
	for _, c := range []struct {
		name string
		said permit.Verdict
		err  error
		want string
	}{
		{"nobody", permit.Verdict{}, fault.New(fault.Denied, "nobody"), "decline map[]"},
		{"refused", permit.Verdict{Choice: permit.Refuse}, nil, "decline map[]"},
		{"said", permit.Verdict{Choice: permit.Because, Words: "no"}, nil, "accept map[sure:false why:no]"},
	} {
		p.Attend(func(context.Context, permit.Question) (permit.Verdict, error) { return c.said, c.err })
		if r, err := p.Call(For(t.Context(), "agent", "call"), "srv", "offer", nil); err != nil || r.Text != c.want {
			t.Errorf("%s: %+v %v", c.name, r, err)
		}
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	p := served(t, "good")
	l := ask(t, p)
	if !l.Resources || len(l.Prompts) != 1 || l.Prompts[0].Hint() != "who [how]" {
		t.Fatalf("%+v", l)
	}
	found, err := p.Resources(t.Context(), "srv")
	if err != nil || len(found) != 1 || found[0].URI != "note://one" {
		t.Errorf("%+v %v", found, err)
	}
	if r, err := p.Read(t.Context(), "srv", "note://one"); err != nil || r.Text != "remember the milk" {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := p.Read(t.Context(), "srv", "note://two"); !fault.Is(err, fault.Failed) {
		t.Errorf("one that is not there: %v", err)
	}
	for said, words := range map[string][]string{
		"Greet ann, .":            {"ann"},
		"Greet ann, very warmly.": {"ann", "very", "warmly"},
		"Greet bob, coldly.":      {"how=coldly", "bob"},
	} {
		if got, err := p.Prompt(t.Context(), "srv", l.Prompts[0], words); err != nil || got != said {
			t.Errorf("%q: %q %v", words, got, err)
		}
	}
	if _, err := p.Prompt(t.Context(), "srv", l.Prompts[0], nil); !fault.Is(err, fault.Usage) {
		t.Errorf("without what is needed: %v", err)
	}
	box := p.Box([]List{l}, 0)
	i := slices.IndexFunc(box, func(o tool.Tool) bool { return o.Spec().Name == "srv__read_resource" })
	if i < 0 || box[i].Spec().Access != tool.Servers {
		t.Fatalf("%v", box)
	}
	if a, err := box[i].Run(t.Context(), tool.Call{Args: json.RawMessage(`{"uri":"note://one"}`)}); err != nil || a.Text != "remember the milk" {
		t.Errorf("%+v %v", a, err)
	}
	if a, err := box[i-1].Run(t.Context(), tool.Call{}); err != nil || !strings.Contains(a.Text, "note://one one: The first note") {
		t.Errorf("%+v %v", a, err)
	}
}
