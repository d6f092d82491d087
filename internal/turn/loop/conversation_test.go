package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"ramet/internal/base/chain"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

func TestHistoriesBecomeAcceptable(t *testing.T) {
	const system, user, assistant, result = history.System, history.User, history.Assistant, history.ToolResult
	const unknown = "=interrupted: outcome unknown!"
	for _, c := range []struct {
		name string
		in   []history.Draft
		want string
	}{
		{"plain", []history.Draft{says(system, "S"), says(user, "hi"), says(assistant, "ho")}, "s t:S | u t:hi | a t:ho"},
		{"results are one message", []history.Draft{says(user, "q"), calls("", "a", "b"), answers("a"), answers("b")},
			"u t:q | a a() b() | t a=Ra b=Rb"},
		{"in the order of the calls", []history.Draft{says(user, "q"), calls("", "a", "b"), answers("b"), answers("a")},
			"u t:q | a a() b() | t a=Ra b=Rb"},
		{"a missing one is filled", []history.Draft{says(user, "q"), calls("", "a", "b"), answers("b"), says(user, "go on")},
			"u t:q | a a() b() | t a" + unknown + " b=Rb | u t:go on"},
		{"at the end too", []history.Draft{says(user, "q"), calls("", "a")}, "u t:q | a a() | t a" + unknown},
		{"a late one is moved up", []history.Draft{says(user, "q"), calls("", "a"), says(user, "hm"), answers("a"), says(assistant, "x")},
			"u t:q | a a() | t a=Ra | u t:hm | a t:x"},
		{"behind a later answer too", []history.Draft{says(user, "q"), calls("", "a"), says(user, "hm"), says(assistant, "x"), answers("a")},
			"u t:q | a a() | t a=Ra | u t:hm | a t:x"},
		{"a duplicate is dropped", []history.Draft{says(user, "q"), calls("", "a"), answers("a"), answers("a"), says(user, "x")},
			"u t:q | a a() | t a=Ra | u t:x"},
		{"one without a call is dropped", []history.Draft{says(user, "q"), answers("z"), says(assistant, "x")}, "u t:q | a t:x"},
		{"an id that comes again", []history.Draft{says(user, "q"), calls("", "a"), answers("a"), calls("", "a", "a"), answers("a"), answers("a")},
			"u t:q | a a() | t a=Ra | a a_3() a_3_2() | t a_3=Ra a_3_2=Ra"},
		{"an id that comes again and was open", []history.Draft{says(user, "q"), calls("", "a"), calls("", "a"), answers("a"), answers("a")},
			"u t:q | a a() | t a" + unknown + " | a a_2() | t a_2=Ra"},
		{"the user opens", []history.Draft{says(system, "S"), says(assistant, "x")}, "s t:S | u t:(conversation continues) | a t:x"},
		{"the user opens before calls", []history.Draft{calls("", "a"), answers("a")}, "u t:(conversation continues) | a a() | t a=Ra"},
		{"empty ones are dropped", []history.Draft{says(user, " \n"), {Kind: user}, says(user, "q"), {Kind: assistant}}, "u t:q"},
		{"only a thought is not an answer", []history.Draft{says(user, "q"), {Kind: assistant, Parts: []history.Part{{Type: history.Thinking, Text: "hm"}}}}, "u t:q"},
		{"a result by hand answers the open call", []history.Draft{says(user, "q"), calls("", "a", "b"), answers("a"), says(result, "42")},
			"u t:q | a a() b() | t a=Ra b=42"},
		{"system in between", []history.Draft{says(user, "q"), calls("", "a"), says(system, "S"), answers("a")}, "u t:q | a a() | t a=Ra | s t:S"},
		{"an image with a result", []history.Draft{says(user, "q"), calls("", "a", "b"),
			{Kind: result, Parts: append(answers("a").Parts, history.Part{Type: history.Image, MediaType: "image/png", Data: []byte("x")})}, answers("b")},
			"u t:q | a a() b() | t a=Ra b=Rb i:"},
	} {
		b := newBook()
		b.write(c.in...)
		_, talk := b.replay(t)
		got := talk.Messages()
		if short(got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, short(got), c.want)
		}
		if err := acceptable(got); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestRedactedHistoriesStayAcceptable(t *testing.T) {
	b := newBook()
	b.write(says(history.User, "q"), calls("", "a", "b"), answers("a"), answers("b"), says(history.Assistant, "x"))
	b.redact(3)
	_, c := b.replay(t)
	if got := short(c.Messages()); got != "u t:q | a a() b() | t a=[redacted] b=Rb | a t:x" {
		t.Error(got)
	}
	b.redact(2)
	_, c = b.replay(t)
	if got := short(c.Messages()); got != "u t:q | a t:[redacted] | a t:x" {
		t.Error(got)
	}
	if c.State() != Idle || len(c.Unanswered()) > 0 {
		t.Error("it is not idle")
	}
}

func TestStateAndUnanswered(t *testing.T) {
	b := newBook()
	_, c := b.replay(t)
	add := func(d ...history.Draft) {
		t.Helper()
		if ok, err := c.Add(t.Context(), b.write(d...)...); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	want := func(s State, open int) {
		t.Helper()
		if c.State() != s || len(c.Unanswered()) != open {
			t.Errorf("%s, %d open; want %s, %d", c.State(), len(c.Unanswered()), s, open)
		}
	}
	want(Idle, 0)
	add(says(history.System, "S"))
	want(Idle, 0)
	add(says(history.User, "q"))
	want(Open, 0)
	add(calls("", "a", "b"))
	want(Open, 2)
	add(answers("b"))
	want(Open, 1)
	if got := c.Unanswered()[0].CallID; got != "a" {
		t.Error(got)
	}
	add(says(history.User, "hm"))
	want(Open, 1)
	add(answers("a"))
	want(Open, 0)
	add(says(history.Assistant, "done"), history.Draft{Kind: history.Usage}, says(history.Note, "n"))
	want(Idle, 0)
	if c.Last() != b.next-1 || c.Len() != 7 {
		t.Error(c.Last(), c.Len())
	}
	add(calls("", "a")) // the id again: what is written down must name it so
	if got := c.Unanswered()[0].CallID; got != "a" {
		t.Error(got)
	}
	add(history.NewClear())
	want(Idle, 0)
	if c.Len() != 0 || len(c.Messages()) != 0 {
		t.Error("something lies before the clear")
	}
	if ok, err := c.Add(t.Context(), b.write(history.NewRewind(b.next-1, ""))...); ok || err != nil {
		t.Error("a rewind does not make it stale", err)
	}
}

func TestASummaryIsTheUsersAndSaysSo(t *testing.T) {
	b := newBook()
	b.write(says(history.System, "S"), says(history.User, "q"), says(history.Assistant, "x"), says(history.User, "r"))
	d := testkit.Must(history.NewCompact("they talked", 2, 3))(t)
	b.write(d)
	_, c := b.replay(t)
	if got := short(c.Messages()); got != "s t:S | u t:"+summaryHead+"they talked | u t:r" || c.State() != Open || c.Last() != 5 {
		t.Error(got, c.State(), c.Last())
	}
	if _, ok := c.Fork(4); ok {
		t.Error("forked before the compaction")
	}
	if _, ok := c.Fork(5); !ok {
		t.Error("not forked behind it")
	}
}

func TestWhatVendorsSignedSurvives(t *testing.T) {
	parts := []history.Part{
		{Type: history.Thinking, Text: "hm", Signature: "s1", Origin: "anthropic"},
		{Type: history.Thinking, Opaque: json.RawMessage(`{"type":"redacted_thinking","data":"<&>"}`), Origin: "anthropic"},
		{Type: history.Text, Text: "", Signature: "g", Origin: "gemini"},
		{Type: history.ToolCall, CallID: "a", Name: "read", Args: json.RawMessage(`{"b":1,"a":"<>"}`), Signature: "s2", Origin: "gemini"},
		{Type: history.ToolCall, CallID: "b", Name: "no.such tool", Malformed: `{"x`, Args: json.RawMessage(`{}`)},
	}
	b := newBook()
	b.write(says(history.User, strings.Repeat("long ", 5000)), history.Draft{Kind: history.Assistant, Parts: parts})
	_, c := b.replay(t)
	got := c.Messages()
	if len(got[0].Parts[0].Text) != 25000 {
		t.Error("the blob was not read")
	}
	want := []llm.Part{
		{Type: llm.Thinking, Text: "hm", Signature: "s1", Origin: "anthropic"},
		{Type: llm.Thinking, Opaque: parts[1].Opaque, Origin: "anthropic"},
		{Type: llm.Text, Signature: "g", Origin: "gemini"},
		{Type: llm.ToolCall, CallID: "a", Name: "read", Args: parts[3].Args, Signature: "s2", Origin: "gemini"},
		{Type: llm.ToolCall, CallID: "b", Name: "no_such_tool", Args: json.RawMessage(`{}`), Malformed: `{"x`},
	}
	if !reflect.DeepEqual(got[1].Parts, want) {
		t.Errorf("%+v", got[1].Parts)
	}
}

func TestALateResultChangesNothingThatOthersHave(t *testing.T) {
	b := newBook()
	b.write(says(history.User, "q"), calls("", "a"), says(history.Assistant, "x"), says(history.User, "r"))
	_, c := b.replay(t)
	const before = "u t:q | a a() | t a=interrupted: outcome unknown! | a t:x | u t:r"
	request := c.Messages()
	if ok, err := c.Add(t.Context(), b.write(answers("a"))...); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if got := short(request); got != before {
		t.Errorf("a request changed to %s", got)
	}
	const after = "u t:q | a a() | t a=Ra | a t:x | u t:r"
	if got := short(c.Messages()); got != after {
		t.Error(got)
	}
	// In the past it was still open.
	past, ok := c.Fork(4)
	if !ok || short(past.Messages()) != before {
		t.Errorf("%v %s", ok, short(past.Messages()))
	}
	if ok, err := past.Add(t.Context(), b.write(answers("a"))...); !ok || err != nil || short(past.Messages()) != after {
		t.Error(ok, err, short(past.Messages()))
	}
	// What was shared is not changed by one of the two.
	b = newBook()
	b.write(says(history.User, "q"), calls("", "a"), says(history.Assistant, "x"), says(history.User, "r"))
	_, c = b.replay(t)
	fork, _ := c.Fork(4)
	if ok, err := fork.Add(t.Context(), b.write(answers("a"))...); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if short(c.Messages()) != before || short(fork.Messages()) != after {
		t.Errorf("%s\n%s", short(c.Messages()), short(fork.Messages()))
	}
}

// Forks of one conversation grow side by side, and none sees another.
func TestForksGrowSideBySide(t *testing.T) {
	b := newBook()
	b.write(says(history.User, "q"), calls("", "a", "b"), answers("a"))
	_, c := b.replay(t)
	var work sync.WaitGroup
	for i := range 8 {
		fork, ok := c.Fork(3)
		if !ok {
			t.Fatal("not forked")
		}
		name := string(rune('A' + i))
		var entries []history.Entry
		entries = append(entries, b.write(answers("b"), calls("", "a", name), answers("a"), answers(name), says(history.Assistant, name))...)
		work.Go(func() {
			for _, e := range entries {
				if ok, err := fork.Add(t.Context(), e); !ok || err != nil {
					t.Error(ok, err)
				}
				if next, ok := fork.Fork(e.ID); !ok || short(next.Messages()) != short(fork.Messages()) {
					t.Error("a fork of a fork differs")
				}
			}
			want := "u t:q | a a() b() | t a=Ra b=Rb | a a_4() " + name + "() | t a_4=Ra " + name + "=R" + name + " | a t:" + name
			if got := short(fork.Messages()); got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
		if ok, err := c.Add(t.Context(), b.write(says(history.User, "meanwhile"))...); !ok || err != nil {
			t.Error(ok, err)
		}
	}
	work.Wait()
	if got := short(c.Messages()); got != "u t:q | a a() b() | t a=Ra b=interrupted: outcome unknown!"+strings.Repeat(" | u t:meanwhile", 8) {
		t.Error(got)
	}
}

// rememberer is a tool that keeps its arguments, and says what it recalls.
type rememberer struct {
	device
	recalled [][]string
}

func (k *rememberer) Recall(memos iter.Seq[json.RawMessage]) {
	var all []string
	for m := range memos {
		all = append(all, string(m))
	}
	k.recalled = append(k.recalled, all)
}

func TestMemosAreRecalledWhenATurnBegins(t *testing.T) {
	k := &rememberer{device: device{"look", tool.Reads, func(_ context.Context, c tool.Call) (tool.Answer, error) {
		return tool.Answer{Text: "x", Memo: string(c.Args)}, nil
	}}}
	s := newStage(t, `{"steps": [{"call": "look", "args": {"n": 1}}, {"call": "look", "args": {"n": 2}}]}
{"steps": [{"text": "ok"}]}
{"steps": [{"text": "again"}]}`, k)
	s.must()
	testkit.Must(s.Append(t.Context(), says(history.User, "more")))(t)
	_, s.c = s.book.replay(t)
	s.must()
	want := [][]string{nil, {`{"n":1}`, `{"n":2}`}}
	if !slices.EqualFunc(k.recalled, want, slices.Equal) {
		t.Errorf("%q, want %q", k.recalled, want)
	}
}

// Each fork leaves a segment. Memos are read in one pass through them, however many there are.
func TestMemosOfAnAgentThatForkedOften(t *testing.T) {
	b := newBook()
	_, c := b.replay(t)
	var want []string
	for i := range 50 {
		result := answers("a")
		result.Parts[0].Memo = json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
		grows(t, c, b.write(says(history.User, "q"), calls("", "a"), result))
		if _, ok := c.Fork(c.Last()); !ok {
			t.Fatal("not forked")
		}
		want = append(want, string(result.Parts[0].Memo))
	}
	if n := len(c.segments()); n < 50 {
		t.Fatal(n, "segments")
	}
	var got []string
	for m := range c.memos() {
		got = append(got, string(m))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhatCannotBeReadEndsTheReading(t *testing.T) {
	broken := errors.New("the disk is gone")
	for name, content := range map[string]string{
		"damaged": `[{"type":"text","text":`,
		"a blob":  `[{"type":"text","blob":"` + chain.Sum(nil).String() + `","size":9000}]`,
	} {
		whole := &history.Context{Messages: []history.Entry{{ID: 1, Kind: history.User, Content: []byte(content)}}}
		c, err := NewConversation(t.Context(), whole, func(context.Context, chain.Hash) ([]byte, error) { return nil, broken })
		if c != nil || err == nil || (name == "a blob") != errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
