package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/testkit/llmtest"
	"ramet/internal/turn/hook"
	"ramet/internal/turn/tool"
)

func TestATurnWithTools(t *testing.T) {
	s := newStage(t, `{"steps": [{"thinking": "hm", "signature": "sig"}, {"text": "I "}, {"text": "look."}, {"call": "look", "args": {"n": 1}}, {"usage": {"input": 10, "output": 5}}]}
{"steps": [{"text": "Done."}, {"usage": {"input": 20, "output": 2, "cache_read": 3}}]}`, echo("look", tool.Reads))
	out := s.must()
	want := Outcome{Text: "Done.", Steps: 2, Usage: llm.Usage{Input: 30, Output: 7, CacheRead: 3}, Calls: 1, Worked: 1}
	if out != want {
		t.Errorf("%+v", out)
	}
	s.wantLog(`assistant hm I look. call_1:look{"n":1}`, "usage tool_calls", `tool_result call_1=look{"n": 1}`, "assistant Done.", "usage stop")
	if got := s.told(); got != "thinking_delta text_delta text_delta assistant usage spent call_started(call_1) tool_result call_ended(call_1) text_delta assistant usage spent" {
		t.Error(got)
	}
	if s.streamed() != "Done." {
		t.Errorf("handed over: %q", s.streamed())
	}
	for e := range s.book.QueryRange(t.Context(), history.Range{Agent: me}, history.Selection{}) {
		if e.Kind != history.Usage {
			continue
		}
		m, err := e.Decode()
		if err != nil || m.Call.Model != "script/x" || len(m.Call.Request) != 64 || m.Call.Attempts != 1 || !m.Call.Priced {
			t.Errorf("%+v %v", m.Call, err)
		}
	}
	if p := s.requests[1].Messages[2].Parts[0]; p.Signature != "sig" || p.Origin != llmtest.ScriptOrigin {
		t.Errorf("the thought went back as %+v", p)
	}
	if got := s.requests[0].CacheAfter; len(got) != 2 || got[0] != 0 || got[1] != 1 {
		t.Errorf("marks of the first request: %v", got)
	}
	if got := s.requests[1].CacheAfter; len(got) != 3 || got[0] != 0 || got[1] != 1 || got[2] != 3 {
		t.Errorf("marks of the second: %v", got)
	}
	if s.c.State() != Idle {
		t.Error("something is open")
	}
	if _, err := Run(t.Context(), s.turn, s.c); !fault.Is(err, fault.Conflict) {
		t.Errorf("a turn with nothing to answer: %v", err)
	}
}

// Same context, same model, same tools: same entries. Time stands still.
func TestATurnIsAFunction(t *testing.T) {
	play := func(t *testing.T) (log string, hashes []string) {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, `{"steps": [{"text": "a"}, {"call": "look", "args": {"n": 1}}, {"call": "look", "args": {"n": 2}}, {"call": "act"}]}
{"steps": [{"text": "b"}]}`, echo("look", tool.Reads), echo("act", tool.Commands))
			s.must()
			for e := range s.book.QueryRange(t.Context(), history.Range{Agent: me}, history.Selection{}) {
				hashes = append(hashes, string(e.Kind)+string(e.Content)+string(e.Meta))
			}
			log = s.log()
		})
		return log, hashes
	}
	log, first := play(t)
	for range 20 {
		if _, again := play(t); strings.Join(again, "\n") != strings.Join(first, "\n") {
			t.Fatalf("another time:\n%s\nfirst:\n%s\n%s", strings.Join(again, "\n"), strings.Join(first, "\n"), log)
		}
	}
}

func TestReadsRunSideBySideAndAreWrittenInOrder(t *testing.T) {
	line := `{"steps": [{"call": "look", "args": {"n": 0}}, {"call": "look", "args": {"n": 1}}, {"call": "look", "args": {"n": 2}}, {"call": "act"}, {"call": "look", "args": {"n": 3}}]}
{"steps": [{"text": "ok"}]}`
	var chans [4]chan struct{}
	for i := range chans {
		chans[i] = make(chan struct{})
	}
	acted := false
	look := device{"look", tool.Reads, func(_ context.Context, c tool.Call) (tool.Answer, error) {
		n := number(c.Args)
		if n < 2 {
			<-chans[n+1] // the later one is done first
		}
		if n < 3 {
			close(chans[n])
			if acted {
				t.Error("it acted while others looked")
			}
		} else if !acted {
			t.Error("it looked before it had acted")
		}
		return tool.Answer{Text: "seen"}, nil
	}}
	act := device{"act", tool.Commands, func(context.Context, tool.Call) (tool.Answer, error) {
		acted = true
		return tool.Answer{Text: "acted", Show: "shown"}, nil
	}}
	s := newStage(t, line, look, act)
	if out := s.must(); out.Calls != 5 || out.Worked != 5 {
		t.Errorf("%+v", out)
	}
	s.wantLog(`assistant call_1:look{"n":0} call_2:look{"n":1} call_3:look{"n":2} call_4:act{} call_5:look{"n":3}`, "usage tool_calls",
		"tool_result call_1=seen", "tool_result call_2=seen", "tool_result call_3=seen", "tool_result call_4=acted", "tool_result call_5=seen", "assistant ok", "usage stop")
	for _, e := range s.events {
		if e.Type == CallEnded && e.CallID == "call_4" && e.Text != "shown" {
			t.Errorf("people are shown %q", e.Text)
		}
	}
}

func TestNotMoreThanEightAtATime(t *testing.T) {
	var now, most atomic.Int64
	var once sync.Once
	full := make(chan struct{})
	look := device{"look", tool.Reads, func(context.Context, tool.Call) (tool.Answer, error) {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if n == sideBySide {
			once.Do(func() { close(full) })
		}
		<-full
		now.Add(-1)
		return tool.Answer{Text: "x"}, nil
	}}
	s := newStage(t, `{"steps": [`+strings.TrimSuffix(strings.Repeat(`{"call": "look"},`, 20), ",")+`]}
{"steps": [{"text": "ok"}]}`, look)
	if out := s.must(); most.Load() != sideBySide || out.Worked != 20 {
		t.Error(most.Load(), out)
	}
}

func TestCallsThatCannotRunGetResults(t *testing.T) {
	s := newStage(t, `{"steps": [{"call": "lok"}, {"call": "look", "raw": "{\"n"}, {"call": "look", "args": {"n": "x"}}, {"call": "act"}, {"call": "look", "args": {"x": 1}}]}
{"steps": [{"text": "ok"}]}`, echo("look", tool.Reads), echo("act", tool.Commands))
	s.deny["act"] = true
	out := s.must()
	if out.Calls != 5 || out.Denied != 1 || out.Worked != 1 {
		t.Errorf("%+v", out)
	}
	got := strings.Split(s.log(), "\n")
	for i, want := range []string{`call_1=There is no tool "lok". Did you mean "look"?`, "call_2=The arguments are no complete JSON", "call_3=The arguments of look are wrong", "call_4=act is not allowed here!", "call_5=look{}", "[note: x is not a field of look (did you mean n?) and was ignored]"} {
		if !strings.Contains(got[i+2], want) {
			t.Errorf("%q, want %q", got[i+2], want)
		}
	}
}

func TestAnAnswerThatDidNotEndIsNone(t *testing.T) {
	for _, c := range []struct {
		name, line string
		code       fault.Code
		want       []string
	}{
		{"cut", `{"repeat": true, "steps": [{"text": "I wi"}, {"text": "ll"}, {"call": "act"}, {"cut": true}]}`, fault.StreamCut,
			slices.Repeat([]string{"usage STREAM_CUT", "interrupted I will"}, cutTries)},
		{"cut before a word", `{"repeat": true, "steps": [{"call": "act"}, {"cut": true}]}`, fault.StreamCut, slices.Repeat([]string{"usage STREAM_CUT"}, cutTries)},
		{"cut before anything", `{"repeat": true, "steps": [{"cut": true}]}`, fault.StreamCut, []string{"usage STREAM_CUT"}},
		{"failed", `{"steps": [{"text": "I"}, {"error": "PROVIDER_OVERLOADED", "message": "busy"}]}`, fault.ProviderOverloaded, []string{"usage PROVIDER_OVERLOADED", "interrupted I"}},
		{"refused", `{"steps": [{"text": "No"}, {"finish": "error"}]}`, fault.ProviderBadRequest, []string{"usage error", "interrupted No"}},
		{"nothing left", ``, fault.ProviderBadRequest, []string{"usage PROVIDER_BAD_REQUEST"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			act := device{"act", tool.Commands, func(context.Context, tool.Call) (tool.Answer, error) {
				t.Error("it ran")
				return tool.Answer{}, nil
			}}
			s := newStage(t, c.line, act)
			if _, err := s.run(t.Context()); !fault.Is(err, c.code) {
				t.Error(err)
			}
			s.wantLog(c.want...)
			if s.c.State() != Open {
				t.Error("it cannot be continued")
			}
		})
	}
}

// What broke off after its first word is asked for again; what was shown of it stays, and is no
// answer.
func TestAnAnswerThatWasCutIsAskedForAgain(t *testing.T) {
	s := newStage(t, `{"steps": [{"text": "I wi"}, {"cut": true}]}
{"steps": [{"text": "I w"}, {"error": "PROVIDER_OVERLOADED", "message": "busy", "again": true}]}
{"steps": [{"text": "I will"}, {"call": "act"}]}
{"steps": [{"text": "done"}]}`, echo("act", tool.Commands))
	if out := s.must(); out.Text != "done" {
		t.Errorf("%+v", out)
	}
	s.wantLog("usage STREAM_CUT", "interrupted I wi", "usage PROVIDER_OVERLOADED", "interrupted I w",
		"assistant I will call_1:act{}", "usage tool_calls", "tool_result call_1=act{}", "assistant done", "usage stop")
	if n := strings.Count(s.told(), "retrying"); n != 2 {
		t.Errorf("it is told %d times: %s", n, s.told())
	}
	// Who is stopped behind a cut is interrupted all the same.
	s = newStage(t, `{"repeat": true, "steps": [{"text": "I wi"}, {"cut": true}]}`)
	s.turn.Limits.Again = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	s.onEvent = func(e Event) {
		if e.Type == Retrying {
			cancel()
		}
	}
	if _, err := s.run(ctx); !fault.Is(err, fault.Cancelled) || !strings.HasPrefix(s.log(), "usage STREAM_CUT\ninterrupted I wi") {
		t.Errorf("%v\n%s", err, s.log())
	}
}

// Hooks keep a turn from ending so often and no more, and a person is told once that they are not heard again.
func TestHooksKeepATurnFromEnding(t *testing.T) {
	for _, c := range []struct {
		task  bool
		event hook.Event
	}{{false, hook.Stop}, {true, hook.SubagentStop}} {
		s := newStage(t, `{"repeat": true, "steps": [{"text": "fine"}]}`)
		asked, past := 0, 0
		s.turn.Task = c.task
		s.turn.Hooks = func(_ context.Context, o hook.Occasion) hook.Verdict {
			if o.Event != c.event || o.Fields["stop_hook_active"] != (asked > 0) || o.Fields["last_assistant_message"] != "fine" {
				t.Errorf("asked %d: %+v", asked, o)
			}
			asked++
			if o.Shown {
				past = asked
			}
			return hook.Verdict{Denied: !o.Shown, Why: "look again"}
		}
		out := s.must()
		notes := slices.DeleteFunc(s.events, func(e Event) bool { return e.Type != Note })
		if asked != mostStops+1 || past != asked || out.Steps != asked || strings.Count(s.log(), "notice Your turn is not over, a hook says: look again") != mostStops {
			t.Errorf("asked %d, unheard at %d, %d steps\n%s", asked, past, out.Steps, s.log())
		}
		if len(notes) != 1 || notes[0].Text != "hooks have kept the turn from ending 8 times; they are not heard again" {
			t.Errorf("%+v", notes)
		}
	}
}

func TestReasonsToStop(t *testing.T) {
	s := newStage(t, `{"steps": [{"text": "so"}, {"call": "act"}, {"call": "act", "raw": "{\"n\": "}, {"finish": "length"}]}
{"steps": [{"text": "and so"}, {"finish": "length"}]}`, echo("act", tool.Commands))
	out := s.must()
	if out.Text != "and so" || out.Worked != 0 || out.Calls != 2 || strings.Count(s.log(), "=not run: your answer was cut") != 2 {
		t.Errorf("%+v", out)
	}
	if n := strings.Count(s.told(), " note"); n != 2 {
		t.Errorf("%d notes: %s", n, s.told())
	}
	s = newStage(t, `{"steps": [{"usage": {"output": 1}}]}`)
	if out := s.must(); out.Text != "" || out.Usage.Output != 1 {
		t.Errorf("%+v", out)
	}
	s.wantLog("usage stop")
}

func TestLimits(t *testing.T) {
	s := newStage(t, `{"repeat": true, "steps": [{"text": "again"}, {"call": "act"}]}`, echo("act", tool.Commands))
	s.turn.Limits.Steps = 3
	out, err := s.run(t.Context())
	if !fault.Is(err, fault.BudgetExceeded) || out.Steps != 3 || out.Worked != 3 || out.Text != "again" || !strings.HasSuffix(s.log(), "\nnote the turn has used the 3 steps that it may take while no person is there") {
		t.Errorf("%+v %v\n%s", out, err, s.log())
	}
	// Not while somebody is there, nor where a budget binds.
	for _, c := range []struct {
		attended bool
		left     int64
	}{{true, 0}, {false, 1 << 40}} {
		s = newStage(t, strings.Repeat(`{"steps": [{"call": "act"}]}`+"\n", 5)+`{"steps": [{"text": "done"}]}`, echo("act", tool.Commands))
		s.turn.Limits.Steps, s.turn.Limits.Attended, s.left = 3, c.attended, c.left
		if out := s.must(); out.Steps != 6 {
			t.Errorf("%+v", out)
		}
	}

	s = newStage(t, `{"steps": [{"call": "act", "args": {"n": 1, "s": "x"}}]}
{"steps": [{"call": "act", "args": {"s": "x", "n": 1.0}}, {"call": "act"}]}
{"repeat": true, "steps": [{"call": "act", "args": {"s":"x", "n": 1}}]}`, fails("act", "no"))
	out, err = s.run(t.Context())
	if !fault.Is(err, fault.LoopDetected) || out.Steps != 5 || !strings.Contains(s.log(), "\nnote the model made the same call of act in 3 answers") {
		t.Errorf("%+v %v\n%s", out, err, s.log())
	}

	s = newStage(t, `{"steps": [{"text": "x"}]}`)
	s.leftErr = fault.New(fault.BudgetExceeded, "nothing left")
	if _, err := s.run(t.Context()); !errors.Is(err, s.leftErr) || s.log() != "note nothing left" {
		t.Errorf("%v\n%s", err, s.log())
	}
}

func TestAnswersAreLimitedToWhatIsLeft(t *testing.T) {
	for _, c := range []struct {
		left  int64
		model llm.Model
		want  int64
	}{
		{0, llm.Model{Output: 1000}, 1000},
		{0, llm.Model{Output: 1000, Context: 100_000}, 1000},
		{0, llm.Model{Output: 100_000, Context: 1600}, 1554}, // the window leaves less
		{0, llm.Model{Context: 1600}, 800},
		{0, llm.Model{}, 32_000},
		{500, llm.Model{Output: 1000}, 500},
		{5000, llm.Model{Output: 1000}, 1000},
		{5000, llm.Model{}, 5000},
		{50000, llm.Model{}, 32_000},
	} {
		s := newStage(t, `{"steps": [{"text": "x"}]}`)
		s.left, s.turn.Model = c.left, c.model
		s.must()
		if got := s.requests[0].MaxTokens; got != c.want {
			t.Errorf("%+v: %d, want %d", c, got, c.want)
		}
		if w := s.worst[0]; w.Least != min(w.Output, 4096) || w.Input < int64(len("x")) || s.held != 0 {
			t.Errorf("%+v: %+v, %d not settled", c, w, s.held)
		}
	}
}

// What is set aside is never less than what the request has bytes, until the vendor has
// counted it; and is given back once a call, however that ends.
func TestWhatACallMayComeToIsSetAside(t *testing.T) {
	s := newStage(t, `{"steps": [{"call": "echo", "args": {"text": "a"}}, {"usage": {"input": 70, "output": 10}}]}
{"steps": [{"error": "PROVIDER_BAD_REQUEST"}]}`)
	s.run(t.Context())
	if len(s.worst) != 2 || s.held != 0 {
		t.Fatalf("%+v, %d not settled", s.worst, s.held)
	}
	size := int64(0)
	for _, m := range s.requests[0].Messages {
		size += sizeOf(m)
	}
	if first := s.worst[0].Input; first < size {
		t.Errorf("%d are set aside for %d bytes", first, size)
	}
	if second := s.worst[1].Input; second < 70 || !s.worst[1].Priced && s.turn.Ref.Vendor == "script" {
		t.Errorf("%+v", s.worst[1])
	}
}

// Where a budget binds, what no vendor counted counts with all that it can have been: else a
// server that tells no usage would have no limit. Where none does, nothing is made up.
func TestWhatNobodyCountsIsSpentAllTheSame(t *testing.T) {
	const lines = `{"steps": [{"text": "twelve bytes"}%s]}`
	for _, c := range []struct {
		name, steps string
		left        int64
		output      int64
		input       bool
	}{
		{"told", `, {"usage": {"input": 7, "output": 3}}`, 9000, 3, true},
		{"nothing is told", ``, 9000, 12, true},
		{"nothing binds", ``, 0, 0, false},
		{"cut before it is told", `, {"error": "PROVIDER_BAD_REQUEST"}`, 9000, 12, true},
		{"cut in the middle", `, {"usage": {"input": 7, "output": 1}}, {"error": "PROVIDER_BAD_REQUEST"}`, 9000, 12, true},
	} {
		s := newStage(t, fmt.Sprintf(lines, c.steps))
		s.left = c.left
		out, _ := s.run(t.Context())
		if s.held != 0 || out.Usage.Output != c.output || (out.Usage.Input > 0) != c.input {
			t.Errorf("%s: %+v, %d not settled", c.name, out.Usage, s.held)
		}
		if strings.Contains(c.steps, "input") && out.Usage.Input != 7 {
			t.Errorf("%s: %d were read, the vendor says 7", c.name, out.Usage.Input)
		}
	}
	s := newStage(t, `{"steps": [{"error": "PROVIDER_BAD_REQUEST"}]}`)
	s.left = 9000
	if out, _ := s.run(t.Context()); out.Usage.Total() != 0 {
		t.Errorf("a call that was refused took %+v", out.Usage)
	}
}

// A model that writes a call which its vendor cannot read is asked again, a few times: nobody refused
// anything. Each try is counted.
func TestAStumbleIsNoRefusal(t *testing.T) {
	for _, c := range []struct {
		stumbles int
		reason   string
		code     fault.Code
		asked    int
	}{{1, "MALFORMED_FUNCTION_CALL", "", 2}, {9, "UNEXPECTED_TOOL_CALL", fault.ProviderProtocol, cutTries}, {1, "SAFETY", fault.ProviderBadRequest, 1}} {
		s := newStage(t, `{"steps": [{"text": "done"}, {"usage": {"input": 5, "output": 1}}]}`)
		asked, well := 0, s.turn.Provider
		s.turn.Provider = llm.Func(func(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
			if asked++; asked > c.stumbles {
				return well.Stream(ctx, r)
			}
			return slices.Values([]llm.Event{{Type: llm.Used, Usage: &llm.Usage{Input: 5, Output: 1}}, {Type: llm.Finished, Finish: llm.Finish{Reason: llm.Error, Raw: c.reason}}})
		})
		out, err := s.run(t.Context())
		if fault.CodeOf(err) != c.code && !(err == nil && c.code == "") || asked != c.asked || out.Usage.Total() != int64(6*asked) {
			t.Errorf("%+v: asked %d times, %+v, %v", c, asked, out.Usage, err)
		}
	}
}

// A turn that ends without a word says so to whoever watches.
func TestSilenceIsTold(t *testing.T) {
	s := newStage(t, `{"steps": []}`)
	s.must()
	if !slices.ContainsFunc(s.events, func(e Event) bool { return e.Type == Note && strings.Contains(e.Text, "without a word") }) {
		t.Errorf("%s", s.told())
	}
}

// A limit of an answer that is more than the model may write is lowered to the one that the refusal names, in
// whatever words; what names none is a refusal.
func TestTheLimitOfAnAnswerIsLearnt(t *testing.T) {
	for said, want := range map[string][]int64{
		"max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-3-5-x-20241022": {128_000, 64_000},
		"max_tokens is too large: 128000. This model supports at most 16384 completion tokens":                       {128_000, 16_384},
		"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]":                                       {128_000, 8192},
		"a maxOutputTokens value of 128000 but the supported range is from 1 (inclusive) to 65537 (exclusive)":       {128_000, 65_536},
		"`max_completion_tokens` must be less than or equal to `8,192`":                                              {128_000, 8192},
		"Unsupported parameter: 'max_tokens' is not supported with this model":                                       {128_000},
		"messages.512.content: at most 20000 items":                                                                  {128_000},
	} {
		quoted, _ := json.Marshal(said)
		s := newStage(t, `{"steps": [{"error": "PROVIDER_BAD_REQUEST", "message": `+string(quoted)+`}]}
{"steps": [{"text": "done"}]}`)
		s.turn.Model = llm.Model{Output: 128_000, Context: 1_000_000}
		_, err := s.run(t.Context())
		var asked []int64
		for _, q := range s.requests {
			asked = append(asked, q.MaxTokens)
		}
		if !slices.Equal(asked, want) || (err == nil) != (len(want) == 2) || s.held != 0 {
			t.Errorf("%s: %v, %v", said, asked, err)
		}
	}
}

// A text is left as it is up to its limit, and is then cut between letters.
func TestLongTextsAreCutBetweenLetters(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"abж", 3, "ab…"}, {"abж", 4, "abж"}, {"жж", 1, "…"}} {
		if got := clipEnd(c.text, c.limit); got != c.want {
			t.Errorf("the first %d bytes of %q are %q, want %q", c.limit, c.text, got, c.want)
		}
	}
	for n := range 40 {
		long := strings.Repeat("ж", n)
		if got := text.Middle(long, 20); len(long) <= 20 && got != long || len(long) > 20 && (!strings.HasPrefix(got, "жжж") || !strings.HasSuffix(got, "жжж") || !strings.Contains(got, "bytes are left out")) {
			t.Errorf("%d letters: %q", n, got)
		}
	}
}

func TestTheLongCacheIsForThoseWhoPause(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		before time.Duration
		gaps   []time.Duration
		want   string
	}{
		"one after the other":   {0, []time.Duration{time.Second, time.Minute}, "---"},
		"a child took long":     {0, []time.Duration{time.Second, 10 * time.Minute, time.Second}, "--++"},
		"a person came back":    {20 * time.Minute, []time.Duration{time.Second}, "++"},
		"the day after":         {20 * time.Hour, []time.Duration{time.Second}, "--"},
		"just within the short": {5 * time.Minute, nil, "-"},
	} {
		var p pauses
		now, got := at, ""
		for i := 0; i <= len(c.gaps); i++ {
			if p.ask(now, c.before) {
				got += "+"
			} else {
				got += "-"
			}
			p.answered(now)
			if i < len(c.gaps) {
				now = now.Add(c.gaps[i])
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestToolsOfOtherProgramsHaveOurNames(t *testing.T) {
	for theirs, ours := range map[string]string{
		"MultiEdit": "edit", "BashOutput": "job", "KillShell": "job", "Agent": "fork", "TodoWrite": "plan", "todowrite": "plan",
		"shell": "bash", "find": "glob", "bash": "bash", "server__find": "server__find", "Unknown": "Unknown",
	} {
		if got := importedName(theirs); got != ours {
			t.Errorf("%s: got %s, want %s", theirs, got, ours)
		}
	}
}
