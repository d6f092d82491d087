package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
)

// orchestrator remembers reports, and what happened before each.
type tapeDesk struct {
	reports []Report
	refuse  func(Report) error
	sent    *int
	order   []string
}

func (d *tapeDesk) Report(ctx context.Context, item string, r Report) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := run.CheckPayload(r.Type, r.Payload); err != nil {
		return err
	}
	if canonical, err := chain.Canonical(r.Payload); err != nil || string(canonical) != string(r.Payload) {
		return fmt.Errorf("not canonical: %s %v", r.Payload, err)
	}
	d.order = append(d.order, fmt.Sprintf("%s after %d sent", r.Type, *d.sent))
	if d.refuse != nil {
		if err := d.refuse(r); err != nil {
			return err
		}
	}
	d.reports = append(d.reports, r)
	return nil
}

// memory is a cache.
type memory map[string][]byte

func (m memory) Get(key string) ([]byte, bool, error) { d, ok := m[key]; return d, ok, nil }
func (m memory) Put(key string, data []byte) error    { m[key] = data; return nil }
func (m memory) Drop(key string) error                { delete(m, key); return nil }

type set struct {
	*testing.T
	orchestrator *tapeDesk
	sent         int
	clock        time.Time
	gates        llmtest.ScriptGates
	RecorderOptions
	provider llm.Provider
}

func newSet(t *testing.T, replies string, change ...func(*RecorderOptions)) *set {
	t.Helper()
	s := &set{T: t, clock: time.Unix(0, 0)}
	s.orchestrator = &tapeDesk{sent: &s.sent}
	model := testkit.Must(llmtest.ParseScript(replies, s.gates.Wait))(t)
	counted := llm.Func(func(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
		return func(yield func(llm.Event) bool) {
			s.sent++
			model.Stream(ctx, r)(yield)
		}
	})
	s.RecorderOptions = RecorderOptions{Item: Attempt{ID: "r1:draft:2:intro", Worker: "draft", Scope: "intro", Number: 2}, Report: s.orchestrator.Report, Sequence: &CallSequence{},
		Vendor: "anthropic", BaseURL: "https://me:pass@api.example/v1?key=k#f", MaxTokens: 4096,
		Price: func(string) (llm.Price, bool) { return llm.Price{Input: 3_000_000, Output: 15_000_000}, true },
		Now: func() time.Time {
			s.clock = s.clock.Add(250 * time.Millisecond)
			return s.clock
		}}
	for _, f := range change {
		f(&s.RecorderOptions)
	}
	s.provider = NewRecorder(counted, s.RecorderOptions)
	return s
}

var request = llm.Request{Model: "m1", Messages: []llm.Message{llm.Say(llm.System, "be brief"), llm.Say(llm.User, "hello")},
	Tools: []llm.Tool{{Name: "read", Description: "reads", Schema: json.RawMessage(`{"type":"object","a":1}`)}}, CacheAfter: []int{0}}

func (s *set) ask(ctx context.Context, r llm.Request) []llm.Event {
	var out []llm.Event
	for e := range s.provider.Stream(ctx, r) {
		out = append(out, e)
	}
	return out
}

func (s *set) payloads() string {
	var out []string
	for _, r := range s.orchestrator.reports {
		out = append(out, string(r.Type)+" "+string(r.Payload))
	}
	return strings.Join(out, "\n")
}

const full = `{"steps": [{"thinking": "hm", "signature": "sig"}, {"text": "Hel"}, {"text": "lo"}, {"call": "read", "args": {"path": "a"}, "id": "c1"}, {"usage": {"input": 100, "output": 20, "cache_read": 7, "cache_write": 3}}]}`

func TestACallIsRecorded(t *testing.T) {
	s := newSet(t, full)
	events := s.ask(t.Context(), request)
	if last := events[len(events)-1]; last.Type != llm.Finished || last.Finish.Reason != llm.ToolCalls {
		t.Errorf("%+v", last)
	}
	want := `LLM_CALL_STARTED {"call_id":"draft.intro.1","max_tokens":4096,"model":"m1","prompt_hash":"` + sum(`[{"parts":[{"text":"be brief","type":"text"}],"role":"system"},{"parts":[{"text":"hello","type":"text"}],"role":"user"}]`) +
		`","provider":"anthropic","provider_base_url":"https://api.example/v1","temperature":1,"tool_schema_hash":"` + sum(`[{"description":"reads","name":"read","schema":{"a":1,"type":"object"}}]`) + `"}
LLM_CALL_FINISHED {"api_cost_usd":0.00063,"call_id":"draft.intro.1","finish_reason":"tool_calls","latency_ms":250,"output_hash":"` +
		sum(`[{"origin":"script","signature":"sig","text":"hm","type":"thinking"},{"text":"Hello","type":"text"},{"args":{"path":"a"},"call_id":"c1","name":"read","type":"tool_call"}]`) +
		`","token_usage":{"input_tokens":110,"output_tokens":20,"total_tokens":130},"tool_calls_count":1}`
	if got := s.payloads(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := fmt.Sprint(s.orchestrator.order); got != "[LLM_CALL_STARTED after 0 sent LLM_CALL_FINISHED after 1 sent]" {
		t.Error(got)
	}
	if id := s.orchestrator.reports[0].ID; id != "r1:draft:2:intro/draft.intro.1/LLM_CALL_STARTED" {
		t.Error(id)
	}
	file := s.orchestrator.reports[1].Evidence
	if file == nil || file.Path != "evidence/llm_calls/draft.intro.1.a2.json" || s.orchestrator.reports[0].Evidence != nil {
		t.Fatalf("%+v", s.orchestrator.reports)
	}
	var w evidence
	testkit.OK(t, json.Unmarshal(file.Data, &w))
	if w.Redacted || w.Answer.RawReason != "tool_calls" || w.Answer.Usage.CacheRead != 7 || !strings.Contains(string(file.Data), `"text":"be brief"`) || strings.Contains(string(file.Data), "pass") {
		t.Errorf("%s", file.Data)
	}
}

func sum(s string) string { return chain.Sum([]byte(s)).String() }

func TestTemperatureAndLengthAreThoseOfTheRequest(t *testing.T) {
	s := newSet(t, `{"steps": [{"text": "x"}]}`)
	r, cold := request, 0.25
	r.Temperature, r.MaxTokens, r.Tools = &cold, 5, nil
	s.ask(t.Context(), r)
	if got := s.payloads(); !strings.Contains(got, `"temperature":0.25`) || !strings.Contains(got, `"max_tokens":5`) || strings.Contains(got, "tool_schema_hash") {
		t.Error(got)
	}
}

func TestCallsThatFailAreRecorded(t *testing.T) {
	for _, c := range []struct{ name, reply, want string }{
		{"overloaded", `{"steps": [{"text": "I "}, {"error": "PROVIDER_OVERLOADED", "message": "busy", "again": true}]}`,
			`"error_class":"PROVIDER_OVERLOADED","error_summary":"script: busy","latency_ms":250,"retryable":true}`},
		{"no key", `{"steps": [{"error": "PROVIDER_AUTH", "message": "who?"}]}`, `"error_class":"PROVIDER_AUTH","error_summary":"script: who?","latency_ms":250,"retryable":false}`},
		{"cut", `{"steps": [{"text": "I "}, {"cut": true}]}`, `"error_class":"STREAM_CUT"`},
		{"nothing left", ``, `"error_class":"PROVIDER_BAD_REQUEST"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSet(t, c.reply, func(o *RecorderOptions) { o.Cache = memory{} })
			events := s.ask(t.Context(), request)
			if events[len(events)-1].Type != llm.Failed {
				t.Errorf("%+v", events)
			}
			if len(s.orchestrator.reports) != 2 || s.orchestrator.reports[1].Type != run.LLMCallFailed || !strings.Contains(s.payloads(), c.want) {
				t.Errorf("%s\nwant\n%s", s.payloads(), c.want)
			}
			if len(s.Cache.(memory)) != 0 {
				t.Error("an answer that was none is kept")
			}
		})
	}
}

// silent ends without an end.
var silent = llm.Func(func(context.Context, llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) { yield(llm.Event{Type: llm.TextDelta, Text: "I"}) }
})

func TestAStreamWithoutAnEndIsCut(t *testing.T) {
	s := newSet(t, ``)
	s.provider = NewRecorder(silent, s.RecorderOptions)
	events := s.ask(t.Context(), request)
	if last := events[len(events)-1]; !fault.Is(last.Err, fault.StreamCut) || !strings.Contains(s.payloads(), `"error_class":"STREAM_CUT"`) {
		t.Errorf("%+v %s", last, s.payloads())
	}
}

func TestTheStatusOfAnAnswerIsTold(t *testing.T) {
	s := newSet(t, ``)
	s.provider = NewRecorder(llm.Func(func(context.Context, llm.Request) iter.Seq[llm.Event] {
		return func(yield func(llm.Event) bool) {
			yield(llm.Fail(fault.New(fault.ProviderRateLimit, "ask: %w", &llm.Failure{Status: 429, Says: "slow down", Again: true})))
		}
	}), s.RecorderOptions)
	s.ask(t.Context(), request)
	if !strings.Contains(s.payloads(), `"http_status":429`) {
		t.Error(s.payloads())
	}
}

func TestWhoBreaksOffLeavesARecord(t *testing.T) {
	s := newSet(t, full)
	for range s.provider.Stream(t.Context(), request) {
		break
	}
	if got := s.payloads(); len(s.orchestrator.reports) != 2 || !strings.Contains(got, `LLM_CALL_FAILED {"call_id":"draft.intro.1","error_class":"CANCELLED"`) {
		t.Error(got)
	}
	// So does one who panics.
	func() {
		defer func() { recover() }()
		for range s.provider.Stream(t.Context(), request) {
			panic("oh")
		}
	}()
	if len(s.orchestrator.reports) != 4 || s.orchestrator.reports[3].Type != run.LLMCallFailed {
		t.Error(s.payloads())
	}
}

func TestACancelledCallIsRecorded(t *testing.T) {
	s := newSet(t, `{"steps": [{"text": "I "}, {"wait": "never"}]}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for e := range s.provider.Stream(ctx, request) {
		if e.Type == llm.TextDelta {
			cancel()
		}
	}
	if got := s.payloads(); len(s.orchestrator.reports) != 2 || !strings.Contains(got, `"error_class":"CANCELLED"`) {
		t.Error(got)
	}
	if !strings.Contains(string(s.orchestrator.reports[1].Evidence.Data), `"text":"I "`) {
		t.Error("what was shown is not in the evidence")
	}
	s.ask(ctx, request)
	if len(s.orchestrator.reports) != 2 || s.sent != 1 {
		t.Error("a call that never began is reported")
	}
}

func TestNothingIsSentThatMayNotBe(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*RecorderOptions)
		code   fault.Code
	}{
		{"desk", func(o *RecorderOptions) {
			o.Report = func(context.Context, string, Report) error { return fault.New(fault.Fenced, "late") }
		}, fault.Fenced},
	} {
		s := newSet(t, full, c.change)
		events := s.ask(t.Context(), request)
		if len(events) != 1 || !fault.Is(events[0].Err, c.code) || s.sent != 0 || len(s.orchestrator.reports) != 0 {
			t.Errorf("%s: %+v, %d sent, %d reported", c.name, events, s.sent, len(s.orchestrator.reports))
		}
	}
}

func TestAnEndThatCannotBeRecordedIsAFailure(t *testing.T) {
	s := newSet(t, full)
	s.orchestrator.refuse = func(r Report) error {
		if r.Type == run.LLMCallFinished {
			return fault.New(fault.StorageFull, "full")
		}
		return nil
	}
	events := s.ask(t.Context(), request)
	if last := events[len(events)-1]; !fault.Is(last.Err, fault.StorageFull) {
		t.Errorf("%+v", last)
	}
}

func TestTheCacheGivesTheSameAnswer(t *testing.T) {
	kept := memory{}
	cached := func(o *RecorderOptions) { o.Cache = kept }
	s := newSet(t, full, cached)
	first := s.ask(t.Context(), request)
	again := newSet(t, ``, cached)
	second := again.ask(t.Context(), request)
	if again.sent != 0 || len(again.orchestrator.reports) != 1 || again.orchestrator.reports[0].Type != run.LLMCacheHit {
		t.Fatalf("%d sent\n%s", again.sent, again.payloads())
	}
	var want []llm.Event
	for _, e := range first {
		switch e.Type {
		case llm.Sent:
			continue
		case llm.Used:
			e.Usage = &llm.Usage{}
		}
		want = append(want, e)
	}
	if !reflect.DeepEqual(second, want) {
		t.Errorf("%+v\nwant\n%+v", second, want)
	}
	output := between(s.payloads(), `"output_hash":"`, `"`)
	if got := again.payloads(); between(got, `"output_hash":"`, `"`) != output || output == "" || !strings.Contains(got, `"call_id":"draft.intro.1"`) {
		t.Error(got)
	}
	if text := string(again.orchestrator.reports[0].Evidence.Data); !strings.Contains(text, `"cached":true`) || !strings.Contains(text, `"times_sent":0`) {
		t.Error(text)
	}
	for key, data := range kept {
		if strings.Contains(string(data), "pass") || len(again.Sequence.Keys()) != 1 || again.Sequence.Keys()[0] != key {
			t.Errorf("%s %s", key, data)
		}
	}
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

func TestWhatDiffersHasAnotherKey(t *testing.T) {
	s := newSet(t, ``)
	key := func(p llm.Provider, r llm.Request) string {
		id := testkit.Must(p.(*provider).identify(r))(t)
		return id.key
	}
	seen := map[string]string{key(s.provider, request): "the request"}
	differ := func(name string, change func(*llm.Request)) {
		r := request
		change(&r)
		k := key(s.provider, r)
		if was, ok := seen[k]; ok {
			t.Errorf("%s has the key of %s", name, was)
		}
		seen[k] = name
	}
	half := 0.5
	call := func(n string) func(*llm.Request) {
		return func(r *llm.Request) {
			r.Messages = append(r.Messages[:2:2], llm.Message{Role: llm.Assistant, Parts: []llm.Part{llm.NewCall("c", "read", `{"n":`+n+`}`)}})
		}
	}
	differ("model", func(r *llm.Request) { r.Model = "m2" })
	differ("length", func(r *llm.Request) { r.MaxTokens = 1 })
	differ("temperature", func(r *llm.Request) { r.Temperature = &half })
	differ("effort", func(r *llm.Request) { r.Effort = llm.High })
	differ("tools", func(r *llm.Request) { r.Tools = nil })
	differ("messages", func(r *llm.Request) { r.Messages = r.Messages[:1] })
	differ("large", call("9007199254740992"))
	differ("larger", call("9007199254740993"))
	differ("beyond a double", call("1e400"))
	o := s.RecorderOptions
	o.BaseURL = "https://other.example"
	if _, ok := seen[key(NewRecorder(silent, o), request)]; ok {
		t.Error("another server has the same key")
	}
	o = s.RecorderOptions
	o.BaseURL, o.Item = "https://you:word@api.example/v1", Attempt{Worker: "other", Number: 7}
	if seen[key(NewRecorder(silent, o), request)] != "the request" {
		t.Error("a password, the item or the attempt changes the key")
	}
	r := request
	r.CacheAfter = nil
	if seen[key(s.provider, r)] != "the request" {
		t.Error("what is only a hint changes the key")
	}
}

func TestADamagedAnswerIsNone(t *testing.T) {
	kept := memory{}
	s := newSet(t, full, func(o *RecorderOptions) { o.Cache = kept })
	s.ask(t.Context(), request)
	key := s.Sequence.Keys()[0]
	kept[key] = kept[key][:len(kept[key])-20]
	s = newSet(t, full, func(o *RecorderOptions) { o.Cache = kept })
	s.ask(t.Context(), request)
	if s.sent != 1 || len(s.orchestrator.reports) != 2 {
		t.Error(s.payloads())
	}
}

func TestSecretsAreInNoFile(t *testing.T) {
	const key = "k\"ey-0123456789"
	kept := memory{}
	redact := func(o *RecorderOptions) {
		o.Cache = kept
		o.Redact = func(s string) (string, bool) {
			out := strings.ReplaceAll(s, key, "[redacted]")
			return out, out != s
		}
	}
	quoted, _ := json.Marshal("it is " + key)
	s := newSet(t, `{"steps": [{"text": `+string(quoted)+`}, {"call": "read", "args": {"a": `+string(quoted)+`, "n": 9007199254740993}}]}`, redact)
	s.ask(t.Context(), request)
	text := string(s.orchestrator.reports[1].Evidence.Data)
	if strings.Contains(text, "0123456789") || !strings.Contains(text, `"redacted":true`) || !strings.Contains(text, "it is [redacted]") || !strings.Contains(text, "9007199254740993") {
		t.Error(text)
	}
	if len(kept) != 0 {
		t.Errorf("kept: %s", kept)
	}
	s = newSet(t, `{"steps": [{"error": "PROVIDER_AUTH", "message": `+string(quoted)+`}]}`, redact)
	s.ask(t.Context(), request)
	if strings.Contains(s.payloads(), "0123456789") {
		t.Error(s.payloads())
	}
}

func TestImagesAreNotInTheEvidence(t *testing.T) {
	s := newSet(t, `{"steps": [{"text": "a cat"}]}`)
	r := request
	image := llm.Part{Type: llm.Image, MediaType: "image/png", Data: []byte("cat")}
	r.Messages = append(r.Messages[:2:2], llm.Message{Role: llm.User, Parts: []llm.Part{image}})
	s.ask(t.Context(), r)
	if text := string(s.orchestrator.reports[1].Evidence.Data); strings.Contains(text, "Y2F0") || !strings.Contains(text, "sha256:"+sum("cat")) {
		t.Error(text)
	}
	if string(r.Messages[2].Parts[0].Data) != "cat" {
		t.Error("the request was changed")
	}
}

func TestNamesOfCalls(t *testing.T) {
	seen := map[string]string{}
	for _, worker := range []string{"a", "a.b", "A", "ä", strings.Repeat("w", 300)} {
		for _, scope := range []string{"b", "b.c", "b/c", "b~2fc", "c1-1", "../x", "", strings.Repeat("s", 300), strings.Repeat("s", 301)} {
			for _, lane := range []string{"", ChildLane("", 1), ChildLane(ChildLane("", 1), 2), ChildLane("", 12)} {
				for _, n := range []int{1, 12} {
					name := MakeCallID(Attempt{Worker: worker, Scope: scope}, lane, n)
					what := fmt.Sprintf("%q %q %q %d", worker, scope, lane, n)
					if len(name) > 180 || strings.ContainsAny(name, "/\\ ") || strings.HasPrefix(name, ".") {
						t.Errorf("%s: %s", what, name)
					}
					if was, ok := seen[name]; ok {
						t.Errorf("%s is the name of %s and %s", name, was, what)
					}
					seen[name] = what
				}
			}
		}
	}
	if got := MakeCallID(Attempt{Worker: "draft", Scope: "intro"}, ChildLane("", 2), 3); got != "draft.intro.c2-3" {
		t.Error(got)
	}
}

func TestAFullCacheFailsTheCallThatIsRecorded(t *testing.T) {
	s := newSet(t, full, func(o *RecorderOptions) { o.Cache = broken{} })
	events := s.ask(t.Context(), request)
	if last := events[len(events)-1]; !fault.Is(last.Err, fault.StorageFull) || !strings.Contains(s.payloads(), "LLM_CALL_FINISHED") {
		t.Errorf("%+v %s", last, s.payloads())
	}
}

type broken struct{}

func (broken) Get(string) ([]byte, bool, error) { return nil, false, nil }
func (broken) Put(string, []byte) error         { return fault.New(fault.StorageFull, "full") }
func (broken) Drop(string) error                { return errors.New("no") }

// Whatever is in a cache is refused or is one whole answer.
func FuzzUnpack(f *testing.F) {
	good := testkit.Must(packAnswer("k", []llm.Event{{Type: llm.TextDelta, Text: "a"}, {Type: llm.Done, Part: &llm.Part{Type: llm.Text, Text: "a"}},
		{Type: llm.Used, Usage: &llm.Usage{Input: 1}}, {Type: llm.Finished, Finish: llm.Finish{Reason: llm.Stop}}}))(f)
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte(`{"format":"ramet-answer/1","key":"k","events":[{"type":"finish"}]}`))
	f.Add([]byte(`{"format":"ramet-answer/1","key":"k","events":[{"type":"done","part":{"type":"tool_call"}},{"type":"finish","finish":{}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := unpackAnswer("k", data)
		if err != nil {
			return
		}
		var c llm.Collector
		for i, e := range events {
			if e.Terminal() != (i == len(events)-1) || e.Type == llm.Failed || e.Type == llm.Sent {
				t.Fatalf("%+v", events)
			}
			c.Add(e)
		}
		m, _, _, err := c.Result()
		testkit.OK(t, err)
		testkit.Must(json.Marshal(m))(t)
		packed := testkit.Must(packAnswer("k", events))(t)
		same, err := unpackAnswer("k", packed)
		if err != nil || len(same) != len(events) {
			t.Fatalf("%v", err)
		}
	})
}
