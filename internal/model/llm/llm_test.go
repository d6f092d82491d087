package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"ramet/internal/base/fault"
)

func TestCollectGivesTheMessage(t *testing.T) {
	call := NewCall("c1", "read", `{"path":"a"}`)
	thought := Part{Type: Thinking, Text: "hm", Signature: "s", Origin: "o"}
	m, usage, finish, err := Collect(slices.Values([]Event{
		{Type: Sent}, {Type: Retry}, {Type: Sent},
		{Type: ThinkingDelta, Index: 0, Text: "hm"}, {Type: Done, Index: 0, Part: &thought},
		{Type: ToolStart, Index: 1}, {Type: Done, Index: 1, Part: &call},
		{Type: Used, Usage: &Usage{Input: 1}}, {Type: Used, Usage: &Usage{Input: 2, Output: 3}},
		{Type: Finished, Finish: Finish{ToolCalls, "tool_use"}},
		{Type: TextDelta, Text: "after the end"},
	}))
	if err != nil || finish.Raw != "tool_use" || usage.Total() != 5 || len(m.Parts) != 2 || len(m.Calls()) != 1 || m.Parts[0].Signature != "s" {
		t.Errorf("%+v %+v %+v %v", m, usage, finish, err)
	}
}

func TestAStreamWithoutAnEndIsNoAnswer(t *testing.T) {
	begun := []Event{
		{Type: TextDelta, Index: 0, Text: "so"}, {Type: Done, Index: 0, Part: &Part{Type: Text, Text: "so"}},
		{Type: Done, Index: 1, Part: new(NewCall("c", "rm", "{}"))},
		{Type: TextDelta, Index: 3, Text: "b"}, {Type: ThinkingDelta, Index: 2, Text: "a"}, {Type: TextDelta, Index: 3, Text: "c"},
	}
	for name, c := range map[string]struct {
		last []Event
		code fault.Code
	}{
		"cut":            {nil, fault.StreamCut},
		"failed":         {[]Event{Fail(fault.New(fault.ProviderOverloaded, "x"))}, fault.ProviderOverloaded},
		"failed somehow": {[]Event{{Type: Failed}}, fault.ProviderProtocol},
	} {
		m, _, finish, err := Collect(slices.Values(slices.Concat(begun, c.last)))
		if !fault.Is(err, c.code) || fault.Exit(err) != 8 || finish != (Finish{}) || len(m.Calls()) > 0 {
			t.Errorf("%s: %+v %+v %v", name, m, finish, err)
		}
		if got := fmt.Sprint(m.Parts[0].Text, m.Parts[1].Text, m.Parts[2].Text); got != "soabc" {
			t.Errorf("%s: shown %q", name, got)
		}
	}
}

func TestArgumentsAreAlwaysAnObject(t *testing.T) {
	for _, c := range []struct{ in, args, malformed string }{
		{"", "{}", ""}, {"{}", "{}", ""}, {`{"a":1}`, `{"a":1}`, ""}, {" {\"a\":1}\n", " {\"a\":1}\n", ""},
		{`{"a":`, "{}", `{"a":`}, {"[1]", "{}", "[1]"}, {"null", "{}", "null"}, {`"x"`, "{}", `"x"`}, {"{}{}", "{}", "{}{}"},
	} {
		if p := NewCall("i", "n", c.in); string(p.Args) != c.args || p.Malformed != c.malformed {
			t.Errorf("%q: %s %q", c.in, p.Args, p.Malformed)
		}
	}
}

func TestMoney(t *testing.T) {
	price := Price{Input: 3e6, Output: 15e6, CacheRead: 0.3e6, CacheWrite: 3.75e6}
	for _, c := range []struct {
		price Price
		usage Usage
		want  string
	}{
		{price, Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheWrite: 1e6}, "$22.05"},
		{price, Usage{Input: 1}, "$0.000003"},
		{price, Usage{CacheRead: 1}, "$0.0000003"},
		{Price{Input: 2e6}, Usage{CacheRead: 5e5, CacheWrite: 5e5}, "$2.00"}, // as input
		{Price{Input: 1}, Usage{Input: 1}, "$0.000000001"},                   // rounded up
		{price, Usage{Reasoning: 100}, "$0.00"},                              // part of the output
		{Price{Input: 1e6, Search: 10e9}, Usage{Input: 1000, Searches: 3}, "$0.031"},
	} {
		if got := c.price.Cost(c.usage).String(); got != c.want {
			t.Errorf("%+v costs %s, want %s", c.usage, got, c.want)
		}
	}
	if got := Money(-1_500_000_000).String(); got != "-$1.50" {
		t.Error(got)
	}
	if sum := (Usage{1, 2, 3, 4, 5, 6, 7, 8}).Plus(Usage{1, 1, 1, 1, 1, 1, 1, 1}); sum != (Usage{2, 3, 4, 5, 6, 7, 8, 9}) || sum.Total() != 14 {
		t.Errorf("%+v", sum)
	}
}

func TestTheHashIsOfPathAndBody(t *testing.T) {
	golden := fmt.Sprintf("%x", Bytes{Path: "/v1/messages", Body: []byte("{}")}.Hash())
	if golden != "1f769eeddb585e40fdf6b55e826112b5a419588412d31082d6c3ef147fd423ad" {
		t.Errorf("hash %s", golden)
	}
	if fmt.Sprintf("%x", (Bytes{Path: "/v1/messages{", Body: []byte("}")}).Hash()) == golden {
		t.Error("the line between path and body is not hashed")
	}
}

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		has  []string
		asks Effort
		want string
	}{
		{[]string{"low", "high"}, Medium, "high"}, {[]string{"minimal", "high"}, Low, "minimal"},
		{[]string{"high", "max"}, XHigh, "max"}, {[]string{"low", "high"}, Max, "high"}, {[]string{"none", "high"}, Minimal, "high"},
		{[]string{"none", "low"}, Off, "none"}, {[]string{"low", "high"}, Off, "low"}, {[]string{"high", "xhigh"}, Low, "high"},
		{[]string{"low", "medium", "high"}, High, "high"}, {nil, High, ""}, {[]string{"low"}, "", ""},
	} {
		if got := (Model{Efforts: c.has}).Nearest(c.asks); got != c.want {
			t.Errorf("%v %s: %q", c.has, c.asks, got)
		}
	}
}

func TestWhichModelsAreAskedToThink(t *testing.T) {
	for name, c := range map[string]struct {
		model Model
		asks  Effort
		want  string
	}{
		"nobody asks":         {Model{Known: true, Thinks: true, Efforts: []string{"high"}}, "", ""},
		"it does not think":   {Model{Known: true}, High, ""},
		"it is not listed":    {Model{}, High, "high"},
		"it has its words":    {Model{Known: true, Thinks: true, Efforts: []string{"low", "max"}}, XHigh, "max"},
		"it thinks, no words": {Model{Known: true, Thinks: true}, Low, "low"},
	} {
		if got := c.model.Think(c.asks); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestPricesByContextAndCache(t *testing.T) {
	long := Price{Input: 1000, Output: 2000, CacheRead: 100, CacheWrite: 1250, Long: Long{Above: 200, Input: 200, Output: 150}}
	for _, c := range []struct {
		price Price
		usage Usage
		want  Money
	}{
		{long, Usage{Input: 100, CacheRead: 100, Output: 10}, 100 + 10 + 20},
		{long, Usage{Input: 101, CacheRead: 100, Output: 10}, 202 + 20 + 30},
		{Price{Input: 1000, CacheWrite: 1250}, Usage{CacheWrite: 8, CacheHour: 4}, 5 + 8},
		{Price{Input: 1000, CacheWrite: 1250, CacheHour: 3000}, Usage{CacheWrite: 4, CacheHour: 4}, 12},
		{long, Usage{Input: 100, Billed: 7}, 7},
	} {
		if got := c.price.Cost(c.usage); got != c.want {
			t.Errorf("%+v costs %d, want %d", c.usage, got, c.want)
		}
	}
}

func TestEndedSaysHow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Ended(ctx); !fault.Is(err, fault.Cancelled) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	late, stop := context.WithTimeout(t.Context(), -1)
	defer stop()
	if err := Ended(late); !fault.Is(err, fault.TimedOut) {
		t.Error(err)
	}
}

func TestFailuresAreSaidOnce(t *testing.T) {
	for _, c := range []struct {
		text  string
		fails bool
		want  string
	}{
		{"fine", false, "fine"},
		{"There is no a.go.", true, "error: There is no a.go."},
		{"--- FAIL: TestAdd\n[exit code 1]", true, "--- FAIL: TestAdd\n[exit code 1]"},
		{"[exit code 1]\n[ramet] It failed twice.", true, "[exit code 1]\n[ramet] It failed twice."},
		{"[exit code 1] and more", true, "error: [exit code 1] and more"},
	} {
		if got := (Part{Type: ToolResult, Text: c.text, IsError: c.fails}).Failure(); got != c.want {
			t.Errorf("%q: %q", c.text, got)
		}
	}
}

// What is JSON to the library is JSON here.
func FuzzValid(f *testing.F) {
	for _, s := range []string{``, `{}`, ` {"a":[1,-0.5e3,null,true]} `, `{"a":1,"a":2}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{} {}`, `{,}`, "{\"a\":\"\n\"}", `01`, `"\u00"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := isJSON(text), json.Valid(text); got != want {
			t.Errorf("%q: %v, the library says %v", text, got, want)
		}
	})
}
