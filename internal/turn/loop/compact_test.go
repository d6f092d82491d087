package loop

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

const summary = `{"when": "Summarise the conversation above", "repeat": true, "steps": [{"text": "SUM"}, {"usage": {"input": 7, "output": 1}}]}
`

// context is what the model would see now.
func (s *stage) context() string {
	out := strings.ReplaceAll(short(s.c.Messages()), summaryHead, "≈")
	return regexp.MustCompile(`(?s)\n\n\[ramet\] The summary.*?stands before it\.`).ReplaceAllString(out, "")
}

func TestCompact(t *testing.T) {
	s := newStage(t, summary)
	s.book.write(calls("x", "a"), answers("a"), says(history.Assistant, "one"), says(history.User, "two"), says(history.Assistant, "three"))
	_, s.c = s.book.replay(t)
	testkit.OK(t, Compact(t.Context(), s.turn, s.c, 0))
	if got := s.context(); got != "u t:go | u t:≈SUM | u t:two | a t:three" {
		t.Error(got)
	}
	if s.told() != "compacting compact usage spent" {
		t.Error(s.told())
	}
	asked := s.requests[0]
	if got := short(asked.Messages); !strings.HasPrefix(got, "s t:Be good. | u t:go | a t:x t:[calls read {\"path\":\"a\"}] | u t:[read answers]\nRa | a t:one | u t:Summarise the conversation above.") || len(asked.Tools) > 0 {
		t.Error(got)
	}
	_, anew := s.book.replay(t)
	if short(anew.Messages()) != short(s.c.Messages()) || anew.Last() != 7 || s.c.Last() != 8 {
		t.Error("the history says otherwise", anew.Last(), s.c.Last())
	}
	if err := Compact(t.Context(), s.turn, s.c, 0); !fault.Is(err, fault.Conflict) {
		t.Errorf("nothing is left to compact: %v", err)
	}
	// A summary of a summary.
	s.c.Add(t.Context(), s.book.write(says(history.User, "four"), says(history.Assistant, "five"))...)
	testkit.OK(t, Compact(t.Context(), s.turn, s.c, 0))
	if got := s.context(); got != "u t:go | u t:two | u t:≈SUM | u t:four | a t:five" {
		t.Error(got)
	}
	// A rewind brings everything back.
	s.book.write(history.NewRewind(6, ""))
	if _, s.c = s.book.replay(t); s.c.Len() != 6 {
		t.Error(s.context())
	}
}

func TestCompactKeepsWhatItShould(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []history.Draft // behind "go"
		keep int
		want string
	}{
		{"too short", []history.Draft{says(history.Assistant, "x")}, 0, ""},
		{"nothing", nil, 0, ""},
		{"the system's words stay", []history.Draft{says(history.Assistant, "x"), says(history.User, "y")}, 0, "u t:go | u t:≈SUM | u t:y"},
		{"more is kept", []history.Draft{says(history.Assistant, "a"), says(history.User, "b"), says(history.Assistant, "c"), says(history.User, "d")}, 2, "u t:go | u t:≈SUM | u t:b | a t:c | u t:d"},
		{"within one turn, at an answer", []history.Draft{calls("", "a"), answers("a"), calls("", "b"), answers("b"), calls("", "c", "d"), answers("d"), answers("c")}, 3, "u t:go | u t:≈SUM | a c() d() | t c=Rc d=Rd"},
		{"never in the middle of a call", []history.Draft{calls("", "a"), answers("a"), calls("", "c", "d"), answers("d"), answers("c")}, 2, "u t:go | u t:≈SUM | a c() d() | t c=Rc d=Rd"},
		{"nor before a late result", []history.Draft{calls("", "a"), says(history.User, "hm"), answers("a"), says(history.Assistant, "x"), says(history.User, "y")}, 3, "u t:go | u t:hm | u t:≈SUM | u t:y"},
	} {
		s := newStage(t, summary)
		s.book.write(c.in...)
		_, s.c = s.book.replay(t)
		before := s.context()
		err := Compact(t.Context(), s.turn, s.c, c.keep)
		if c.want == "" {
			if !fault.Is(err, fault.Conflict) || s.context() != before {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil || s.context() != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, s.context(), c.want)
		}
		if err := acceptable(s.c.Messages()); err != nil {
			t.Error(err)
		}
	}
}

func TestALeadingSystemEntryIsNotCompacted(t *testing.T) {
	s := newStage(t, summary)
	s.book = newBook()
	s.book.write(says(history.System, "S"), says(history.User, "q"), says(history.Assistant, "x"), says(history.User, "y"))
	_, s.c = s.book.replay(t)
	testkit.OK(t, Compact(t.Context(), s.turn, s.c, 0))
	if got := s.context(); got != "s t:S | u t:q | u t:≈SUM | u t:y" {
		t.Error(got)
	}
}

func TestTooLongEvenToSummarise(t *testing.T) {
	s := newStage(t, `{"when": "Summarise the conversation above", "steps": [{"error": "PROVIDER_CONTEXT", "message": "long"}]}
`+summary)
	for range 4 {
		s.book.write(says(history.Assistant, "x"), says(history.User, "y"))
	}
	_, s.c = s.book.replay(t)
	testkit.OK(t, Compact(t.Context(), s.turn, s.c, 0))
	if a, b := len(s.requests[0].Messages), len(s.requests[1].Messages); b >= a {
		t.Errorf("%d messages, then %d", a, b)
	}
	if got := s.context(); got != "u t:go | u t:y | u t:≈SUM | a t:x | u t:y | a t:x | u t:y | a t:x | u t:y" {
		t.Error(got)
	}
	// It does not try for ever.
	s = newStage(t, `{"repeat": true, "steps": [{"error": "PROVIDER_CONTEXT", "message": "long"}]}`)
	for range 40 {
		s.book.write(says(history.Assistant, "x"), says(history.User, "y"))
	}
	_, s.c = s.book.replay(t)
	if err := Compact(t.Context(), s.turn, s.c, 0); !fault.Is(err, fault.ProviderContext) || len(s.requests) != len(maxTold) {
		t.Error(err, len(s.requests))
	}
}

func TestCompactionInMidTurn(t *testing.T) {
	big := device{"act", tool.Commands, func(context.Context, tool.Call) (tool.Answer, error) {
		return tool.Answer{Text: strings.Repeat("word ", 1000)}, nil
	}}
	s := newStage(t, summary+`{"steps": [{"call": "act"}]}
{"steps": [{"call": "act"}]}
{"steps": [{"call": "act"}]}
{"steps": [{"call": "act"}]}
{"steps": [{"text": "ok"}]}`, big)
	s.turn.Model.Context = 4800
	out := s.must()
	if out.Text != "ok" || out.Steps != 5 || s.model.Left() != 0 {
		t.Errorf("%+v\n%s", out, s.told())
	}
	// Old results in short are enough: no summary is asked for.
	if n := strings.Count(s.told(), "compacting compact"); n != 1 || len(s.requests) != 5 {
		t.Errorf("room was made %d times: %s", n, s.told())
	}
	last := short(s.requests[4].Messages)
	if n, whole := strings.Count(last, "bytes of entry"), strings.Count(last, strings.Repeat("word ", 1000)); n != 2 || whole != 2 {
		t.Errorf("the last request has %d results in short, %d whole", n, whole)
	}

	// The vendor knows better.
	s = newStage(t, summary+`{"steps": [{"call": "look"}]}
{"steps": [{"call": "look"}]}
{"steps": [{"error": "PROVIDER_CONTEXT", "message": "too long"}]}
{"steps": [{"text": "ok"}]}`, echo("look", tool.Reads))
	s.turn.Model.Output = 1000
	if out := s.must(); out.Text != "ok" || !strings.Contains(s.log(), "usage PROVIDER_CONTEXT\ncompact SUM") || !strings.HasSuffix(s.log(), "usage stop\nassistant ok\nusage stop") {
		t.Errorf("%+v\n%s", out, s.log())
	}
	// Once.
	s = newStage(t, summary+`{"steps": [{"call": "look"}]}
{"steps": [{"call": "look"}]}
{"repeat": true, "steps": [{"error": "PROVIDER_CONTEXT", "message": "too long"}]}`, echo("look", tool.Reads))
	s.turn.Model.Output = 1000
	if _, err := s.run(t.Context()); !fault.Is(err, fault.ProviderContext) || strings.Count(s.log(), "compact SUM") != 1 {
		t.Errorf("%v\n%s", err, s.log())
	}
	// With nothing to compact the vendor's word counts.
	s = newStage(t, summary+`{"steps": [{"error": "PROVIDER_CONTEXT", "message": "too long"}]}`)
	s.turn.Model.Output = 1000
	if _, err := s.run(t.Context()); !fault.Is(err, fault.ProviderContext) {
		t.Error(err)
	}
}

func TestACompactionThatFails(t *testing.T) {
	talk := func(lines string) *stage {
		s := newStage(t, lines)
		s.book.write(says(history.Assistant, "x"), says(history.User, "y"))
		_, s.c = s.book.replay(t)
		return s
	}
	s := talk(`{"steps": [{"usage": {"output": 1}}]}`)
	if err := Compact(t.Context(), s.turn, s.c, 0); !fault.Is(err, fault.ProviderProtocol) || !strings.HasSuffix(s.log(), "usage stop") {
		t.Errorf("no summary: %v\n%s", err, s.log())
	}
	s = talk(`{"repeat": true, "steps": [{"text": "SU"}, {"cut": true}]}`)
	if err := Compact(t.Context(), s.turn, s.c, 0); !fault.Is(err, fault.StreamCut) || !strings.HasSuffix(s.log(), "usage STREAM_CUT") || s.context() != "u t:go | a t:x | u t:y" {
		t.Errorf("cut: %v\n%s", err, s.log())
	}
	s = talk(`{"steps": [{"text": "SU"}, {"wait": "never"}]}`)
	ctx, cancel := context.WithCancel(t.Context())
	s.onEvent = func(e Event) {
		if e.Type == Compacting {
			cancel()
		}
	}
	if err := Compact(ctx, s.turn, s.c, 0); !fault.Is(err, fault.Cancelled) || strings.Contains(s.log(), "compact") {
		t.Errorf("cancelled: %v\n%s", err, s.log())
	}
	s = talk(summary)
	s.leftErr = fault.New(fault.BudgetExceeded, "nothing left")
	if err := Compact(t.Context(), s.turn, s.c, 0); !fault.Is(err, fault.BudgetExceeded) || len(s.requests) > 0 {
		t.Errorf("no money: %v", err)
	}
}

// A conversation of 10,000 messages costs little to go on with and to fork.
func TestGrowingCostsLittle(t *testing.T) {
	b := newBook()
	for range 2500 {
		b.write(says(history.User, "q"), calls("", "a"), answers("a"), says(history.Assistant, "x"))
	}
	_, c := b.replay(t)
	entries := b.write(says(history.User, "q"), calls("", "a"), answers("a"), says(history.Assistant, "x"))
	more := func(c *Conversation) {
		if ok, err := c.Add(t.Context(), entries...); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	more(c)
	if n := testing.AllocsPerRun(100, func() {
		fork, ok := c.Fork(id.Message(10000))
		if !ok {
			t.Fatal("not forked")
		}
		more(fork)
	}); n > 200 {
		t.Errorf("a fork that grows makes %v allocations", n)
	}
	if got := c.Messages(); len(got) != 10004 || got[1].Role != llm.Assistant {
		t.Error(len(got))
	}
}

// Whatever the history, a compaction is one that the history accepts, and what
// comes of it is a conversation that vendors accept.
func TestAnyHistoryCanBeCompacted(t *testing.T) {
	done := 0
	rapid.Check(t, func(rt *rapid.T) {
		s := newStage(t, summary)
		for range rapid.IntRange(1, 25).Draw(rt, "n") {
			s.book.any(rt)
		}
		_, s.c = s.book.replay(rt)
		for range 2 {
			before := s.c.Len()
			err := Compact(t.Context(), s.turn, s.c, rapid.IntRange(0, 5).Draw(rt, "keep"))
			if fault.Is(err, fault.Conflict) {
				return
			}
			if err != nil {
				rt.Fatalf("%v\n%s", err, s.log())
			}
			done++
			_, anew := s.book.replay(rt)
			same(rt, "compacted", s.c, anew)
			if s.c.Len() > before {
				rt.Fatalf("%d messages became %d", before, s.c.Len())
			}
		}
	})
	if done == 0 {
		t.Error("nothing was compacted")
	}
}
