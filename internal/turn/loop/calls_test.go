package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/model/decorate"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

const longTurn = `{"steps": [{"thinking": "hm"}, {"text": "I look"}, {"call": "look", "args": {"n": 1}}, {"call": "look", "args": {"n": 2}}, {"call": "fork"}, {"call": "act"}, {"call": "nope"}, {"call": "fork"}, {"usage": {"input": 5, "output": 5}}]}
{"steps": [{"text": "And"}, {"text": " act"}, {"call": "act"}, {"call": "act"}]}
{"steps": [{"text": "Done."}]}`

// noisy prints, and notices when it is stopped.
func noisy(name string, access tool.Access) device {
	return device{name, access, func(ctx context.Context, c tool.Call) (tool.Answer, error) {
		c.Output([]byte("one\ntw"))
		c.Output([]byte("o\n"))
		if ctx.Err() != nil {
			return tool.Answer{}, ctx.Err()
		}
		return tool.Answer{Text: "did"}, nil
	}}
}

func longStage(t *testing.T) *stage {
	s := newStage(t, longTurn, noisy("look", tool.Reads), noisy("act", tool.Commands))
	s.turn.Tools = append(s.turn.Tools, s.forker())
	return s
}

// A turn that is stopped at any moment leaves a whole history that says so, and
// that can be gone on with.
func TestStoppedAtEveryEvent(t *testing.T) {
	whole := longStage(t)
	if out := whole.must(); out.Calls != 8 || out.Worked != 7 || out.Steps != 3 {
		t.Fatalf("%+v\n%s", out, whole.log())
	}
	total := len(whole.events)
	for n := range total {
		s := longStage(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := fault.New(fault.Interrupted, "somebody pulled the plug")
		seen := 0
		s.onEvent = func(Event) {
			if seen++; seen == n+1 {
				cancel(why)
			}
		}
		_, err := s.run(ctx)
		if err == nil && strings.HasSuffix(s.log(), "\nassistant Done.\nusage stop") {
			continue // the answer was whole already
		}
		if !fault.Is(err, fault.Interrupted) || !errors.Is(err, why) {
			t.Fatalf("stopped at %d: %v", n, err)
		}
		log := s.log()
		if open := s.openCalls(); len(open) > 0 {
			t.Fatalf("stopped at %d: %v have no result\n%s", n, open, log)
		}
		if strings.Count(log, "interrupted ") == 0 && !strings.HasSuffix(log, "interrupted") {
			t.Fatalf("stopped at %d: the history does not say so\n%s", n, log)
		}
		if strings.Count(log, "\ninterrupted") > 1 {
			t.Fatalf("stopped at %d: the history says so twice\n%s", n, log)
		}
		if err := acceptable(s.c.Messages()); err != nil {
			t.Fatalf("stopped at %d: %v", n, err)
		}
		last := slices.IndexFunc(s.events, func(e Event) bool { return e.Type == CallStarted })
		if strings.Contains(log, unknownOutcome) && last < 0 {
			t.Errorf("stopped at %d: nothing began, and something is unknown", n)
		}
		// It can be gone on with.
		s.onEvent = nil
		s.model = testkit.Must(script0(`{"repeat": true, "steps": [{"text": "fine"}]}`))(t)
		if s.c.State() == Open {
			if out, err := s.run(t.Context()); err != nil || out.Text != "fine" {
				t.Fatalf("stopped at %d, and then: %v", n, err)
			}
		}
	}
	t.Logf("stopped at %d events", total)
}

func TestATimeout(t *testing.T) {
	s := longStage(t)
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if _, err := s.run(ctx); !fault.Is(err, fault.TimedOut) {
		t.Error(err)
	}
	s.wantLog("interrupted")
}

func TestAKilledAgentWritesNothing(t *testing.T) {
	s := longStage(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	s.onEvent = func(e Event) {
		if e.Type == CallStarted {
			cancel(fault.New(fault.DeadAgent, "killed"))
			s.broken = func([]history.Draft) error { t.Error("it writes"); return fault.New(fault.DeadAgent, "dead") }
		}
	}
	if _, err := s.run(ctx); !fault.Is(err, fault.DeadAgent) {
		t.Error(err)
	}
}

func TestTheJournalFails(t *testing.T) {
	for _, code := range []fault.Code{fault.Fenced, fault.DeadAgent, fault.StorageFull, fault.StorageIO} {
		for n := range 12 {
			s := longStage(t)
			tries, after := 0, 0
			why := fault.New(code, "no")
			s.broken = func([]history.Draft) error {
				if tries++; tries <= n {
					return nil
				}
				after++
				return why
			}
			_, err := s.run(t.Context())
			if tries <= n {
				if err != nil {
					t.Error(err)
				}
				break // the whole turn went well
			}
			if !errors.Is(err, why) {
				t.Errorf("%s at write %d: %v", code, n, err)
			}
			if LostAgent(why) && after > 1 {
				t.Errorf("%s at write %d: it went on writing %d times", code, n, after)
			}
		}
	}
}

func TestABatchRunsLastAndTogether(t *testing.T) {
	s := newStage(t, longTurn, noisy("look", tool.Reads), noisy("act", tool.Commands))
	batches := 0
	fork := s.forker()
	s.turn.Tools = append(s.turn.Tools, togetherTool{fork.device, func(ctx context.Context, calls []tool.Call) error {
		batches++
		open := s.c.Unanswered()
		if len(open) != 2 || len(calls) != 2 || open[0].CallID != "call_3" || open[1].CallID != "call_6" {
			t.Errorf("at the fork %v are open", open)
		}
		// A child that is born here shares what there is.
		child, ok := s.c.Fork(s.c.Last())
		if !ok || len(child.Unanswered()) != 2 {
			t.Error("it cannot be forked here")
		}
		return fork.all(ctx, calls)
	}})
	s.must()
	if batches != 1 {
		t.Errorf("%d batches", batches)
	}
	got := strings.Split(s.log(), "\n")[2:8]
	for i, want := range []string{"call_1=did", "call_2=did", "call_4=did", "call_5=There is no tool", "call_3=child of call_3", "call_6=child of call_6"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("%q, want %q", got[i], want)
		}
	}
}

func TestABatchFails(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string // of the result; empty: the turn fails
	}{
		{"a fault is an answer", fault.New(fault.Conflict, "the name is taken"), "the name is taken!"},
		{"a lost lease is the end", fault.New(fault.Fenced, "gone"), ""},
		{"a broken store is the end", fault.New(fault.StorageIO, "disk"), ""},
		{"so is an error", errors.New("what"), ""},
	} {
		s := newStage(t, `{"steps": [{"call": "fork"}, {"call": "fork"}]}
{"steps": [{"text": "ok"}]}`)
		s.turn.Tools = tool.Box{togetherTool{echo("fork", tool.Processes), func(context.Context, []tool.Call) error { return c.err }}}
		_, err := s.run(t.Context())
		if c.want == "" {
			if !errors.Is(err, c.err) {
				t.Errorf("%s: %v", c.name, err)
			}
			if open := s.openCalls(); LostAgent(err) != (len(open) == 2) {
				t.Errorf("%s: open are %v", c.name, open)
			}
		} else if err != nil || strings.Count(s.log(), c.want) != 2 {
			t.Errorf("%s: %v\n%s", c.name, err, s.log())
		}
	}
	s := newStage(t, `{"steps": [{"call": "fork"}]}
{"steps": [{"call": "fork"}]}
{"steps": [{"text": "ok"}]}`)
	fork := s.forker()
	times := 0
	s.turn.Tools = tool.Box{togetherTool{fork.device, func(ctx context.Context, calls []tool.Call) error {
		if times++; times == 1 {
			panic("before it did anything")
		}
		if err := fork.all(ctx, calls); err != nil {
			return err
		}
		panic("after it did everything")
	}}}
	if out := s.must(); out.Worked != 1 || !strings.Contains(s.log(), "call_1=The tool itself broke") || !strings.Contains(s.log(), "call_2=child of call_2") {
		t.Errorf("%+v\n%s", out, s.log())
	}
}

func TestAPanicOfAToolIsItsResult(t *testing.T) {
	s := newStage(t, `{"steps": [{"call": "act"}, {"call": "look"}, {"call": "look"}]}
{"steps": [{"text": "ok"}]}`,
		device{"act", tool.Commands, func(context.Context, tool.Call) (tool.Answer, error) { panic(fmt.Errorf("nil map")) }},
		device{"look", tool.Reads, func(_ context.Context, c tool.Call) (tool.Answer, error) {
			if c.ID == "call_2" {
				panic("look")
			}
			return tool.Answer{Text: "seen"}, nil
		}})
	out := s.must()
	if out.Worked != 1 || strings.Contains(s.log(), "goroutine") || strings.Contains(s.log(), "nil map") || !strings.Contains(s.log(), "call_3=seen") {
		t.Errorf("%+v\n%s", out, s.log())
	}
	for _, e := range s.events {
		if e.Type == CallEnded && e.CallID == "call_1" && (e.Text != "panic: nil map" || !e.IsError) {
			t.Errorf("%+v", e)
		}
	}
}

func TestAToolThatWritesItsResultItself(t *testing.T) {
	s := newStage(t, `{"steps": [{"call": "read_mail"}, {"call": "lies"}]}
{"steps": [{"text": "ok"}]}`)
	s.turn.Tools = tool.Box{
		device{"read_mail", tool.Processes, func(ctx context.Context, c tool.Call) (tool.Answer, error) {
			_, err := s.Append(ctx, answers(c.ID))
			return tool.Answer{Text: "for people", Recorded: true}, err
		}},
		device{"lies", tool.Processes, func(context.Context, tool.Call) (tool.Answer, error) {
			return tool.Answer{Text: "it stands there", Recorded: true}, nil
		}},
	}
	s.must()
	s.wantLog("assistant call_1:read_mail{} call_2:lies{}", "usage tool_calls", "tool_result call_1=Rcall_1", "tool_result call_2=it stands there", "assistant ok", "usage stop")
	if strings.Count(s.told(), "tool_result") != 2 {
		t.Error(s.told())
	}
}

func TestAnAgentThatEndsItself(t *testing.T) {
	s := newStage(t, `{"steps": [{"text": "bye"}, {"call": "exit"}, {"call": "exit"}]}`)
	ran := 0
	s.turn.Tools = tool.Box{device{"exit", tool.Processes, func(ctx context.Context, c tool.Call) (tool.Answer, error) {
		ran++
		s.broken = func([]history.Draft) error { return fault.New(fault.DeadAgent, "dead") }
		return tool.Answer{Text: "bye", Ends: true}, nil
	}}}
	if out := s.must(); !out.Ended || out.Text != "bye" || ran != 1 {
		t.Errorf("%+v, ran %d times", out, ran)
	}
	// As exit does it: the history is closed, and the turn is stopped from within.
	s = newStage(t, `{"steps": [{"text": "bye"}, {"call": "exit"}, {"call": "exit"}]}`)
	ctx, cancel := context.WithCancelCause(t.Context())
	s.turn.Tools = tool.Box{device{"exit", tool.Processes, func(context.Context, tool.Call) (tool.Answer, error) {
		why := fault.New(fault.DeadAgent, "dead")
		s.broken = func([]history.Draft) error { t.Error("it writes"); return why }
		cancel(why)
		return tool.Answer{Text: "bye", Ends: true, Recorded: true}, nil
	}}}
	if out, err := s.run(ctx); err != nil || !out.Ended || out.Worked != 1 {
		t.Errorf("%+v %v", out, err)
	}
}

func TestAToolThatCannotGoOnEndsTheTurn(t *testing.T) {
	why := fault.New(fault.StorageIO, "disk")
	s := newStage(t, `{"steps": [{"call": "look"}, {"call": "look"}, {"call": "look"}, {"call": "act"}]}`,
		device{"look", tool.Reads, func(_ context.Context, c tool.Call) (tool.Answer, error) {
			if c.ID == "call_2" {
				return tool.Answer{}, why
			}
			return tool.Answer{Text: "seen"}, nil
		}}, echo("act", tool.Commands))
	if _, err := s.run(t.Context()); !errors.Is(err, why) {
		t.Error(err)
	}
	s.wantLog("assistant call_1:look{} call_2:look{} call_3:look{} call_4:act{}", "usage tool_calls",
		"tool_result call_1=seen", "tool_result call_3=seen", "tool_result call_2=interrupted: outcome unknown!", "tool_result call_4=not begun: it did not happen!")
}

func TestCredentialsGoNowhere(t *testing.T) {
	const key = "sk-very-secret"
	s := newStage(t, `{"steps": [{"text": "the key is sk-very"}, {"text": "-secret, yes"}, {"thinking": "sk-very-secret", "signature": "sig"}, {"call": "act", "args": {"s": "a sk-very-secret b", "n": 9007199254740991}}, {"call": "act", "raw": "{\"s\": \"sk-very-secret"}]}
{"repeat": true, "steps": [{"text": "key: sk-very"}, {"text": "-secret"}, {"cut": true}]}`,
		device{"act", tool.Commands, func(_ context.Context, c tool.Call) (tool.Answer, error) {
			c.Output([]byte("print sk-ve"))
			c.Output([]byte("ry-secret\nrest sk-very-secret"))
			return tool.Answer{Text: "text " + key + string(c.Args), Show: "show " + key}, nil
		}})
	s.turn.Clean = func(s string) string { return strings.ReplaceAll(s, key, "[key]") }
	if _, err := s.run(t.Context()); !fault.Is(err, fault.StreamCut) {
		t.Error(err)
	}
	for e := range s.book.QueryRange(t.Context(), history.Range{Agent: me}, history.Selection{}) {
		if strings.Contains(string(e.Content), key) || strings.Contains(string(e.Content), "sig\"") {
			t.Errorf("%s: %s", e.Kind, e.Content)
		}
	}
	printed := ""
	for _, e := range s.events {
		if e.Type != TextDelta && strings.Contains(e.Text, key) {
			t.Errorf("%+v", e)
		}
		if e.Type == CallOutput {
			printed += e.Text
		}
	}
	if printed != "print [key]\nrest [key]" {
		t.Errorf("%q", printed)
	}
	if s.streamed() != "key: [key]" {
		t.Errorf("handed over: %q", s.streamed())
	}
	if !strings.Contains(s.log(), `call_1:act{"n":9007199254740991,"s":"a [key] b"}`) || !strings.Contains(s.log(), `interrupted key: [key]`) {
		t.Error(s.log())
	}
}

func TestLongAndBinaryResults(t *testing.T) {
	big := strings.Repeat("é", maxResult)
	s := newStage(t, `{"steps": [{"call": "act"}]}
{"steps": [{"text": "ok"}]}`, device{"act", tool.Commands, func(context.Context, tool.Call) (tool.Answer, error) {
		return tool.Answer{Text: "a\x00\xff" + big, Show: "s\x00" + big}, nil
	}})
	s.must()
	m := s.c.Messages()
	got := m[2].Parts[0].Text
	if len(got) > maxResult+100 || !utf8.ValidString(got) || !strings.HasPrefix(got, "a␀\uFFFDé") || !strings.HasSuffix(got, "é") || !strings.Contains(got, "bytes are left out here") {
		t.Errorf("%d bytes: %.40q", len(got), got)
	}
	for e := range s.book.QueryRange(t.Context(), history.Range{Agent: me}, history.Selection{}) {
		parts := testkit.Must(e.Parts())(t)
		for _, p := range parts {
			if len(p.Show) > maxShow+10 || !utf8.ValidString(p.Show) || p.Type == history.Result && p.Show == "" {
				t.Errorf("shown: %d bytes", len(p.Show))
			}
		}
	}
}

func TestWhatAnEarlierTurnLeftOpenIsClosed(t *testing.T) {
	s := newStage(t, `{"steps": [{"text": "ok"}]}`)
	s.book.write(calls("", "a", "b"), answers("a"), says(history.User, "go on"))
	_, s.c = s.book.replay(t)
	s.must()
	if open := s.openCalls(); len(open) > 0 || !strings.Contains(s.log(), "tool_result b=interrupted: outcome unknown!\nassistant ok") {
		t.Errorf("%v\n%s", open, s.log())
	}
}

func TestABatchThatIsDeniedInPart(t *testing.T) {
	s := newStage(t, `{"steps": [{"call": "fork"}, {"call": "spawn"}, {"call": "fork", "raw": "{"}]}
{"steps": [{"text": "ok"}]}`)
	fork := s.forker()
	spawn := fork
	spawn.name = "spawn"
	s.turn.Tools = tool.Box{fork, spawn}
	s.deny["spawn"] = true
	if out := s.must(); out.Calls != 3 || out.Denied != 1 || out.Worked != 1 {
		t.Errorf("%+v\n%s", out, s.log())
	}
	ended := 0
	for _, e := range s.events {
		if e.Type == CallEnded {
			ended++
		}
	}
	if ended != 3 {
		t.Errorf("%d calls ended: %s", ended, s.told())
	}
}

func TestALineThatNeverEndsIsShown(t *testing.T) {
	s := newStage(t, `{"steps": [{"call": "act"}]}
{"steps": [{"text": "ok"}]}`, device{"act", tool.Commands, func(_ context.Context, c tool.Call) (tool.Answer, error) {
		for range 3 {
			c.Output([]byte(strings.Repeat("é", longestLine/2)[1:]))
			c.Output([]byte("\xc3"))
		}
		return tool.Answer{Text: "did"}, nil
	}})
	s.must()
	n, pieces := 0, 0
	for _, e := range s.events {
		if e.Type == CallOutput {
			n += strings.Count(e.Text, "é")
			pieces++
		}
	}
	if n != 3*(longestLine/2)-1 || pieces != 4 {
		t.Errorf("%d letters in %d pieces", n, pieces)
	}
}

func TestWhatCallsBringJoinsBehindTheirResults(t *testing.T) {
	look := device{"look", tool.Reads, func(context.Context, tool.Call) (tool.Answer, error) { return tool.Answer{Text: "seen"}, nil }}
	s := newStage(t, `{"steps": [{"call": "look", "args": {"n": 1}}, {"call": "look", "args": {"n": 2}}]}
{"steps": [{"call": "look", "args": {"n": 3}}]}
{"steps": [{"text": "ok"}]}`, look)
	var asked []string
	s.turn.Joins = func(_ context.Context, known iter.Seq[json.RawMessage], calls []tool.Call) ([]history.Draft, error) {
		for _, c := range calls {
			asked = append(asked, string(c.Args))
		}
		if len(slices.Collect(known)) > 0 {
			return nil, nil
		}
		d := says(history.System, "be careful here")
		d.Parts[0].Memo = json.RawMessage(`{"told":true}`)
		return []history.Draft{d}, nil
	}
	s.must()
	if got := strings.Join(asked, " "); got != `{"n": 1} {"n": 2} {"n": 3}` {
		t.Errorf("asked %s", got)
	}
	if log := s.log(); strings.Count(log, "be careful here") != 1 || !strings.Contains(log, "be careful here\nassistant") {
		t.Errorf("the history is\n%s", log)
	}
	second := s.requests[1].Messages
	if last := second[len(second)-1].Text(); last != "be careful here" {
		t.Errorf("the model reads %q last", last)
	}
}

// Who let a call run stands in the entry of its result; a person's yes stands in the history
// before anything runs.
func TestWhoLetACallRunIsInItsEntry(t *testing.T) {
	for by, want := range map[string]string{history.ByPerson: "assistant usage permit ran result assistant usage", history.ByRule: "assistant usage ran result assistant usage"} {
		var seen []string
		act := noisy("act", tool.Commands)
		s := newStage(t, `{"steps": [{"call": "act"}]}
{"steps": [{"text": "done"}]}`, act)
		s.record = &history.Permission{Answer: history.Allowed, By: by, At: "2026-11-01T00:00:00.000Z", Actor: &history.Actor{Who: "ann", Face: history.Page}}
		s.onEvent = func(e Event) {
			if e.Type == CallOutput && (len(seen) == 0 || seen[len(seen)-1] != "ran") {
				seen = append(seen, "ran")
			}
		}
		s.broken = func(drafts []history.Draft) error {
			for _, d := range drafts {
				switch {
				case d.Meta.Command == history.PermitCommand && d.Meta.CallID != "" && d.Meta.Actor.Who == "ann" && d.Meta.Permission == s.record:
					seen = append(seen, "permit")
				case d.Kind == history.ToolResult && d.Meta.Permission == s.record:
					seen = append(seen, "result")
				default:
					seen = append(seen, string(d.Kind))
				}
			}
			return nil
		}
		s.must()
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("%s: %s, want %s", by, got, want)
		}
	}
}

// A vendor that has too much to do is waited for where nobody is there; but not while another model
// can take over.
func TestWhoIsWaitedFor(t *testing.T) {
	busy := func(times int) (llm.Provider, *int) {
		n := 0
		return decorate.WithRetry(llm.Func(func(_ context.Context, r llm.Request) iter.Seq[llm.Event] {
			return func(yield func(llm.Event) bool) {
				if n++; n <= times {
					yield(llm.Fail(fault.New(fault.ProviderRateLimit, "busy: %w", &llm.Failure{Status: 429, Again: true})))
					return
				}
				yield(llm.Event{Type: llm.Done, Part: &llm.Part{Type: llm.Text, Text: "at last"}})
				yield(llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: llm.Stop}})
			}
		}), decorate.RetryOptions{Attempts: 2, First: 1, Most: 1}), &n
	}
	s := newStage(t, ``)
	var asked *int
	s.turn.Provider, asked = busy(30)
	if out := s.must(); out.Text != "at last" || *asked != 31 {
		t.Errorf("%+v after %d", out, *asked)
	}
	s = newStage(t, ``)
	s.turn.Limits.Attended = true
	s.turn.Provider, asked = busy(30)
	if _, err := s.run(t.Context()); !fault.Is(err, fault.ProviderRateLimit) || *asked != 2 {
		t.Errorf("somebody is there: %v after %d", err, *asked)
	}
	s = newStage(t, `{"steps": [{"text": "instead"}]}`)
	other := s.turn.Provider
	s.turn.Provider, asked = busy(30)
	s.turn.Others = []Alternative{{Ref: llm.Ref{Vendor: "script", Name: "y"}, Provider: other}}
	if out := s.must(); out.Text != "instead" || *asked != 2 {
		t.Errorf("%+v after %d", out, *asked)
	}
}

// Answers count, not the calls of one: three equal calls that fail side by side are one failure.
func TestEqualCallsOfOneAnswerCountOnce(t *testing.T) {
	s := newStage(t, `{"steps": [{"call": "act"}, {"call": "act"}, {"call": "act"}]}
{"steps": [{"call": "act"}, {"call": "act"}, {"call": "act"}]}
{"steps": [{"text": "I give up"}]}`, fails("act", "no"))
	if out := s.must(); out.Text != "I give up" || strings.Count(s.log(), "The same call failed 2 times in a row") != 1 {
		t.Errorf("%+v\n%s", out, s.log())
	}
}

// The same test that fails with edits between, or beside it, is no circle.
func TestWorkThatFailsIsNoCircle(t *testing.T) {
	var lines []string
	for i := range 6 {
		lines = append(lines, fmt.Sprintf(`{"steps": [{"call": "edit", "args": {"n": %d}}, {"call": "act"}]}`, i))
	}
	s := newStage(t, strings.Join(lines, "\n")+"\n"+`{"steps": [{"text": "done"}]}`, fails("act", "no"), echo("edit", tool.Writes))
	if out := s.must(); out.Text != "done" || strings.Contains(s.log(), "[ramet]") {
		t.Errorf("%+v\n%s", out, s.log())
	}
}

func TestTenEqualSuccessesAreNoticed(t *testing.T) {
	s := newStage(t, strings.Repeat(`{"steps": [{"call": "act"}]}`+"\n", 12)+`{"steps": [{"text": "done"}]}`, echo("act", tool.Commands))
	if out := s.must(); out.Worked != 12 {
		t.Errorf("%+v", out)
	}
	if n := strings.Count(s.log(), "[ramet] You have made this call 10 times in a row"); n != 1 || !strings.Contains(s.log(), "call_10=act{}\n[ramet]") {
		t.Errorf("it is told %d times:\n%s", n, s.log())
	}
}

func TestTooManyCallsOfOneAnswer(t *testing.T) {
	calls := make([]string, mostCalls+6)
	for i := range calls {
		calls[i] = fmt.Sprintf(`{"call": "look", "args": {"n": %d}}`, i)
	}
	s := newStage(t, `{"steps": [`+strings.Join(calls, ", ")+`]}
{"steps": [{"text": "done"}]}`, echo("look", tool.Reads))
	out := s.must()
	if out.Worked != mostCalls || out.Calls != mostCalls+6 || strings.Count(s.log(), "=not run: of one answer at most 64 calls") != 6 {
		t.Errorf("%+v\n%s", out, s.log())
	}
}

// Looking for credentials is done when somebody wants the words, not for every piece; and no
// piece of one is handed out before it was looked at as a whole.
func TestShownWordsAreLookedAtWhenTheyAreWanted(t *testing.T) {
	const key = "sk-0123456789abcdef"
	looks := 0
	s := shown{clean: func(text string) string {
		looks++
		return strings.ReplaceAll(text, key, "[hidden]")
	}}
	said := strings.Repeat("plain words ", 100) + "the key is " + key + " and so on"
	for i := range len(said) {
		s.add(said[i : i+1])
		if i%200 == 0 {
			if got := s.words(); strings.Contains(got, "sk-") {
				t.Fatalf("a piece of the key is out: %q", got[max(0, len(got)-40):])
			}
		}
	}
	if want := strings.ReplaceAll(said, key, "[hidden]"); s.whole() != want {
		t.Errorf("%q", s.whole())
	}
	if looks > len(said)/100 {
		t.Errorf("%d looks at %d pieces", looks, len(said))
	}
}

func TestNoPieceOfAKeyIsHandedOut(t *testing.T) {
	const key = "sk-0123456789abcdef"
	s := shown{clean: func(text string) string { return strings.ReplaceAll(text, key, "[hidden]") }}
	for _, piece := range strings.Split("my key is "+key+" now", "") {
		s.add(piece)
		if got := s.words(); strings.Contains(got, "sk-") {
			t.Fatalf("a piece of the key is out: %q", got)
		}
	}
	if got := s.whole(); got != "my key is [hidden] now" {
		t.Errorf("%q", got)
	}
}

// The journal is told of the first words, and again of those that come after it asked.
func TestTheJournalIsToldUntilItAsks(t *testing.T) {
	s := shown{clean: func(text string) string { return text }}
	for round := range 3 {
		for i := range 5 {
			if tell := s.add("word "); tell != (i == 0) {
				t.Errorf("round %d, piece %d: told %t", round, i, tell)
			}
		}
		if got, want := s.words(), strings.Repeat("word ", 5*(round+1)); got != want {
			t.Errorf("%q", got)
		}
	}
}
