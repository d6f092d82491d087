package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
)

func sent(t *testing.T, r llm.Request, known llm.Model) string {
	t.Helper()
	p := &provider{model: func(string) llm.Model { return known }}
	_, value := p.encode(r)
	out := testkit.Must(wire.Marshal(value))(t)
	return string(out)
}

func TestThinkingIsAskedForAsTheModelKnowsIt(t *testing.T) {
	half := 0.5
	hi := llm.Request{Model: "m", Messages: []llm.Message{llm.Say(llm.User, "Hi")}, Effort: llm.High, Temperature: &half}
	for name, c := range map[string]struct {
		known llm.Model
		max   int64
		want  string
	}{
		"by effort":              {llm.Model{Known: true, Thinks: true, Efforts: []string{"low", "high", "max"}}, 0, `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`},
		"by budget":              {llm.Model{Known: true, Thinks: true, Output: 64000}, 0, `"thinking":{"type":"enabled","budget_tokens":24576}`},
		"within a small limit":   {llm.Model{Known: true, Thinks: true}, 4000, `"thinking":{"type":"enabled","budget_tokens":2000}`},
		"not within a tiny one":  {llm.Model{Known: true, Thinks: true}, 1000, `"temperature":0.5`},
		"not where it is unable": {llm.Model{Known: true}, 0, `"max_tokens":32000`},
		"where nobody knows it":  {llm.Model{}, 0, `"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}`},
		"where it is quiet":      {llm.Model{Known: true, Thinks: true, Quiet: true, Steady: true, Efforts: []string{"high", "max"}}, 0, `"thinking":{"type":"adaptive","display":"summarized"}`},
	} {
		r := hi
		r.MaxTokens = c.max
		got := sent(t, r, c.known)
		if !strings.Contains(got, c.want) || strings.Contains(got, `"thinking"`) == strings.Contains(got, "temperature") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestFourCacheMarksAtMost(t *testing.T) {
	r := llm.Request{Model: "m", CacheAfter: []int{7, 0, 1, 2, 3, 5, 3, 99, -1}}
	for range 8 {
		r.Messages = append(r.Messages, llm.Say(llm.User, "x"), llm.Say(llm.Assistant, "y"))
	}
	if n := strings.Count(sent(t, r, llm.Model{}), "cache_control"); n == 0 || n > 4 {
		t.Errorf("%d marks", n)
	}
	r = llm.Request{Model: "m", CacheAfter: []int{0}, Messages: []llm.Message{{Role: llm.Assistant, Parts: []llm.Part{
		{Type: llm.Text, Text: "a"}, {Type: llm.Thinking, Text: "b", Signature: "s", Origin: Origin}}}}}
	if got := sent(t, r, llm.Model{}); !strings.Contains(got, `{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`) {
		t.Error(got)
	}
}

func TestTheBodyIsJSONWhateverIsSaid(t *testing.T) {
	for _, text := range []string{"a\x00b\x1f\x7f", "\u2028 <&> \"\\/ é 😀", "\xff broken", strings.Repeat("\n\t", 3) + "x"} {
		raw := sent(t, llm.Request{Model: `m"`, Messages: []llm.Message{
			llm.Say(llm.System, text), llm.Say(llm.User, text), llm.Say(llm.System, text),
			{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Thinking, Text: text, Signature: text, Origin: Origin},
				{Type: llm.ToolCall, CallID: text, Name: text, Args: json.RawMessage(`{ "a" : [1] }`)}}},
			{Role: llm.ToolRole, Parts: []llm.Part{{Type: llm.ToolResult, CallID: text, Text: text, IsError: true}, {Type: llm.Image, MediaType: text, Data: []byte(text)}}},
		}}, llm.Model{})
		var body struct {
			Model    string
			System   []struct{ Text string }
			Messages []struct {
				Content []struct {
					Text, Thinking, Signature, Name, Content string
					Source                                   struct{ Data []byte }
				}
			}
		}
		if err := json.Unmarshal([]byte(raw), &body); err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
		want := strings.ToValidUTF8(text, "\uFFFD")
		said, answer, result := body.Messages[0].Content, body.Messages[1].Content, body.Messages[2].Content
		if body.Model != `m"` || body.System[0].Text != want || said[0].Text != want || said[1].Text != "<system>\n"+want+"\n</system>" ||
			answer[0].Thinking != want || answer[0].Signature != want || answer[1].Name != want ||
			result[0].Content != want || string(result[1].Source.Data) != text {
			t.Errorf("%q became %s", text, raw)
		}
	}
}

func TestNoAnswerEndsInAThought(t *testing.T) {
	thought := llm.Part{Type: llm.Thinking, Text: "hm", Signature: "s", Origin: Origin}
	got := sent(t, llm.Request{Model: "m", Messages: []llm.Message{llm.Say(llm.User, "Hi"), {Role: llm.Assistant,
		Parts: []llm.Part{{Type: llm.Text, Text: "a"}, thought, {Type: llm.Text, Text: " ", Signature: "s"}}}, llm.Say(llm.User, "and?")}}, llm.Model{})
	if strings.Contains(got, "thinking") || !strings.Contains(got, `{"role":"assistant","content":[{"type":"text","text":"a"}]}`) {
		t.Error(got)
	}
}

// The server refuses to go on thinking where the open calls were made without.
func TestNoThinkingWithinAnothersLoop(t *testing.T) {
	old := llm.Model{Known: true, Thinks: true, Output: 64000}
	adaptive := llm.Model{Known: true, Thinks: true, Efforts: []string{"high", "max"}}
	foreign, own := llm.NewCall("c", "read", "{}"), llm.NewCall("c", "read", "{}")
	own.Origin = Origin
	thought := llm.Part{Type: llm.Thinking, Text: "hm", Signature: "s", Origin: Origin}
	for name, c := range map[string]struct {
		said  []llm.Part
		then  []llm.Message
		known llm.Model
		want  bool
	}{
		"another vendor's":           {[]llm.Part{foreign}, nil, adaptive, false},
		"another's, before a budget": {[]llm.Part{foreign}, nil, old, false},
		"its own, with a thought":    {[]llm.Part{thought, own}, nil, old, true},
		"its own, without one":       {[]llm.Part{own}, nil, old, false},
		"its own, as it decided":     {[]llm.Part{own}, nil, adaptive, true},
		"a loop that was closed":     {[]llm.Part{foreign}, []llm.Message{llm.Say(llm.Assistant, "done"), llm.Say(llm.User, "next")}, old, true},
	} {
		messages := append([]llm.Message{llm.Say(llm.User, "Hi"), {Role: llm.Assistant, Parts: c.said},
			{Role: llm.ToolRole, Parts: []llm.Part{llm.Result(own, "r", false)}}}, c.then...)
		got := sent(t, llm.Request{Model: "m", Effort: llm.High, Messages: messages}, c.known)
		if strings.Contains(got, `"thinking":{"type"`) != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestContentThatComesWithTheStart(t *testing.T) {
	d := newDecoder()
	var c llm.Collector
	for _, e := range []string{
		`{"type":"message_start","message":{"content":[{"type":"text","text":"Hel"},{"type":"tool_use","id":"t","name":"read","input":{"path":"a"}}],"usage":{"input_tokens":1,"cache_creation_input_tokens":9,"cache_creation":{"ephemeral_1h_input_tokens":4}}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"lo"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5,"output_tokens_details":{"thinking_tokens":2}}}`,
	} {
		events, _, err := d.Next("", []byte(e))
		testkit.OK(t, err)
		for _, one := range events {
			c.Add(one)
		}
	}
	_, finish, _ := d.Close()
	c.Add(llm.Event{Type: llm.Finished, Finish: finish})
	m, usage, _, err := c.Result()
	if err != nil || m.Text() != "Hello" || len(m.Calls()) != 1 || string(m.Calls()[0].Args) != `{"path":"a"}` {
		t.Errorf("%+v %v", m, err)
	}
	if want := (llm.Usage{Input: 1, Output: 5, CacheWrite: 9, CacheHour: 4, Reasoning: 2}); usage != want {
		t.Errorf("%+v", usage)
	}
}

// A search that was never answered is refused, unless the server is to go on with it.
func TestSearchesThatNobodyAnsweredAreLeftOut(t *testing.T) {
	look := func(id string) llm.Part {
		return llm.Part{Type: llm.Search, Origin: Origin, Opaque: []byte(`{"type":"server_tool_use","id":"` + id + `","name":"web_search","input":{}}`)}
	}
	found := llm.Part{Type: llm.Search, Origin: Origin, Opaque: []byte(`{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}`)}
	thought := llm.Part{Type: llm.Thinking, Origin: Origin, Text: "hm", Signature: "x"}
	call := llm.NewCall("c1", "read", "{}")
	for name, c := range map[string]struct {
		messages []llm.Message
		want     string
	}{
		"the last word":  {[]llm.Message{{Role: llm.Assistant, Parts: []llm.Part{look("s1")}}}, "s1"},
		"a tool of ours": {[]llm.Message{{Role: llm.Assistant, Parts: []llm.Part{look("s1"), call}}, {Role: llm.ToolRole, Parts: []llm.Part{llm.Result(call, "r", false)}}}, "s1"},
		"answered later": {[]llm.Message{{Role: llm.Assistant, Parts: []llm.Part{look("s1"), call}}, {Role: llm.ToolRole, Parts: []llm.Part{llm.Result(call, "r", false)}},
			{Role: llm.Assistant, Parts: []llm.Part{found}}, llm.Say(llm.User, "and?")}, "s1"},
		"never": {[]llm.Message{{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: "I look."}, look("s2"), thought, look("s3")}}, llm.Say(llm.User, "and?")}, ""},
	} {
		got := sent(t, llm.Request{Model: "m", Messages: append([]llm.Message{llm.Say(llm.User, "hi")}, c.messages...)}, llm.Model{})
		if c.want != "" && !strings.Contains(got, `"id":"`+c.want+`"`) || c.want == "" && (strings.Contains(got, "server_tool_use") || strings.Contains(got, "thinking")) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestASchemaThatIsNoJSONIsNotSent(t *testing.T) {
	broken := request{Tools: []tool{{Name: "a", InputSchema: json.RawMessage(`{`)}}}
	if _, err := wire.Marshal(broken); err == nil {
		t.Error("a schema that is not JSON is sent")
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var suite = llmtest.Suite{
	New:   func(o wire.Options) llm.Provider { return At(o, Host{}) },
	Model: "claude-sonnet-4-6", KeyHeader: "X-Api-Key", Thinking: true, WriteCache: 20,
	Raw: map[string]string{"text": "end_turn", "thinking": "end_turn", "tools": "tool_use", "cache": "end_turn",
		"length": "max_tokens", "badargs": "max_tokens", "refusal": "refusal"},
	Lookup: llm.Model{Known: true, Name: "claude-sonnet-4-6", Output: 64000, Thinks: true, Efforts: []string{"low", "medium", "high", "max"}},
}

func TestConformance(t *testing.T) { llmtest.Run(t, suite) }

func FuzzStream(f *testing.F) { llmtest.Fuzz(f, suite) }
