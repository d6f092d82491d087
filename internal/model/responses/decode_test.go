package responses

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
)

func play(t *testing.T, events ...string) (llm.Message, llm.Finish, error) {
	t.Helper()
	d := newDecoder()
	var c llm.Collector
	for _, e := range events {
		list, last, err := d.Next("", []byte(e))
		for _, one := range list {
			c.Add(one)
		}
		if err != nil {
			return llm.Message{}, llm.Finish{}, err
		}
		if last {
			break
		}
	}
	list, finish, ok := d.Close()
	for _, one := range list {
		c.Add(one)
	}
	if ok {
		c.Add(llm.Event{Type: llm.Finished, Finish: finish})
	}
	m, _, finish, err := c.Result()
	return m, finish, err
}

const completed = `{"type":"response.completed","response":{}}`

func TestItemsThatComeAtOnce(t *testing.T) {
	m, finish, err := play(t,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Hi"}]}}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","name":"x","arguments":"{\"a\":1}"}}`,
		`{"type":"response.output_item.done","output_index":2,"item":{"type":"web_search_call"}}`, completed)
	if err != nil || finish.Reason != llm.ToolCalls || m.Text() != "Hi" || string(m.Calls()[0].Args) != `{"a":1}` {
		t.Errorf("%+v %+v %v", m, finish, err)
	}
}

// What came with the end alone is the answer; what came before is not told twice.
func TestAnAnswerThatComesWithItsEnd(t *testing.T) {
	const output = `"output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]},{"type":"function_call","call_id":"c","name":"x","arguments":"{}"}]`
	whole := `{"type":"response.completed","response":{` + output + `}}`
	for _, before := range [][]string{nil, {`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Hi"}]}}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","name":"x","arguments":"{}"}}`}} {
		m, finish, err := play(t, append(before, whole)...)
		if err != nil || finish.Reason != llm.ToolCalls || m.Text() != "Hi" || len(m.Calls()) != 1 {
			t.Errorf("%d events before: %+v %+v %v", len(before), m, finish, err)
		}
	}
	m, finish, err := play(t, `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","content":[{"type":"output_text","text":"ha"}]}]}}`)
	if err != nil || finish.Reason != llm.Length || m.Text() != "ha" {
		t.Errorf("%+v %+v %v", m, finish, err)
	}
	if _, finish, _ = play(t, `{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"refusal","refusal":"No."}]}]}}`); finish.Reason != llm.Error {
		t.Errorf("a refusal: %+v", finish)
	}
}

func TestPartsOfASummaryAreParagraphs(t *testing.T) {
	m, _, err := play(t,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r"}}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"a"}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"b"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r","summary":[]}}`, completed)
	// Without encrypted content it cannot go back.
	if err != nil || m.Parts[0].Text != "a\n\nb" || m.Parts[0].Opaque != nil {
		t.Errorf("%+v %v", m, err)
	}
}

func TestWhatIsNotInTheProtocol(t *testing.T) {
	for _, events := range [][]string{
		{`{"type":"response.output_text.delta","output_index":0,"delta":"x"}`},
		{`{"type":"response.output_text.delta","output_index":0,"delta":{}}`},
		{`{"type":"response.output_item.added","output_index":0,"item":7}`},
		{`{"type":"response.output_item.added","output_index":0,"item":{}}`, `{"type":"response.output_item.added","output_index":0,"item":{}}`},
		{`{"type":"error","code":"server_error","message":"x"}`},
		{`{"error":{"message":"x"}}`},
	} {
		if _, _, err := play(t, events...); err == nil {
			t.Errorf("%v was taken", events)
		}
	}
	if m, _, err := play(t, `{"type":"response.audio.delta","delta":{"x":1}}`, `{"type":"response.new_thing"}`, completed); err != nil || len(m.Parts) > 0 {
		t.Errorf("unknown events: %+v %v", m, err)
	}
}

// hear decodes events and gives the message.
func hear(t *testing.T, events ...string) llm.Message {
	t.Helper()
	d := newDecoder()
	var c llm.Collector
	for _, e := range events {
		got, _, err := d.Next("", []byte(e))
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		for _, one := range got {
			c.Add(one)
		}
	}
	_, finish, ok := d.Close()
	if !ok {
		t.Fatal("no end")
	}
	c.Add(llm.Event{Type: llm.Finished, Finish: finish})
	m, _, _, err := c.Result()
	testkit.OK(t, err)
	return m
}

func say(t *testing.T, known llm.Model, r llm.Request) string {
	t.Helper()
	p := &provider{model: func(string) llm.Model { return known }}
	_, value := p.encode(r)
	out := testkit.Must(wire.Marshal(value))(t)
	return string(out)
}

func TestThePhaseOfAMessageComesBack(t *testing.T) {
	m := hear(t,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`,
		`{"type":"response.output_text.delta","output_index":0,"delta":"I look."}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","phase":"commentary","content":[{"type":"output_text","text":"I look."}]}}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","phase":"final_answer","content":[{"type":"output_text","text":"It is 4."}]}}`,
		`{"type":"response.completed","response":{}}`)
	raw, err := json.Marshal(m) // as a history keeps it
	if err != nil || json.Unmarshal(raw, &m) != nil {
		t.Fatal(err)
	}
	got := say(t, llm.Model{}, llm.Request{Model: "m", Messages: []llm.Message{m, llm.Say(llm.Assistant, "of another")}})
	for _, want := range []string{
		`{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look."}]}`,
		`{"type":"message","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"It is 4."}]}`,
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"of another"}]}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
}

func TestArgumentsAsAnObject(t *testing.T) {
	m := hear(t,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"read","arguments":{"path":"a"}}}`,
		`{"type":"response.completed","response":{}}`)
	if calls := m.Calls(); len(calls) != 1 || string(calls[0].Args) != `{"path":"a"}` || calls[0].Malformed != "" {
		t.Errorf("%+v", calls)
	}
}

func TestWhoIsAskedToThink(t *testing.T) {
	r := llm.Request{Model: "m", CacheKey: "tree", Messages: []llm.Message{llm.Say(llm.User, "Hi")}}
	for name, c := range map[string]struct {
		known  llm.Model
		effort llm.Effort
		want   string
	}{
		"one that does not":       {llm.Model{Known: true}, llm.High, ""},
		"one that nobody knows":   {llm.Model{}, llm.High, `"reasoning":{"effort":"high","summary":"auto"}`},
		"nobody says how hard":    {llm.Model{Known: true, Thinks: true}, "", `"reasoning":{"summary":"auto"}`},
		"unknown, and nobody did": {llm.Model{}, "", ""},
	} {
		r.Effort = c.effort
		got := say(t, c.known, r)
		if strings.Contains(got, "reasoning") != (c.want != "") || !strings.Contains(got, c.want) || !strings.Contains(got, `"prompt_cache_key":"tree"`) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var suite = llmtest.Suite{
	New:   func(o wire.Options) llm.Provider { return New(o) },
	Model: "gpt-5", KeyHeader: "Authorization", KeyPrefix: "Bearer ", Thinking: true, Reasoning: 8, WriteCache: 20,
	Raw: map[string]string{"text": "completed", "thinking": "completed", "tools": "completed", "cache": "completed",
		"length": "max_output_tokens", "badargs": "max_output_tokens", "refusal": "refusal"},
	Lookup: llm.Model{Known: true, Name: "gpt-5", Thinks: true, Efforts: []string{"minimal", "low", "medium", "high"}},
}

func TestConformance(t *testing.T) { llmtest.Run(t, suite) }

func FuzzStream(f *testing.F) { llmtest.Fuzz(f, suite) }

// unverified refuses summaries, as OpenAI does to organisations that it does not
// know.
type unverified struct{ asked []string }

func (u *unverified) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	u.asked = append(u.asked, string(body))
	if strings.Contains(string(body), `"summary":"auto"`) {
		return answer(400, "application/json", `{"error":{"message":"Your organization must be verified to generate reasoning summaries.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`), nil
	}
	return answer(200, "text/event-stream", "data: {\"type\":\"response.completed\",\"response\":{}}\n\n"), nil
}

func answer(status int, media, text string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(strings.NewReader(text))}
}

func TestRefusedSummariesAreLeftOut(t *testing.T) {
	u := &unverified{}
	p := New(wire.Options{Vendor: "openai", Base: "http://127.0.0.1", Key: "k", HTTP: u, Model: func(string) llm.Model { return llm.Model{Known: true, Thinks: true} }})
	for range 2 {
		if _, _, finish, err := llm.Collect(p.Stream(t.Context(), llm.Request{Model: "gpt-5", Effort: llm.Low, Messages: []llm.Message{llm.Say(llm.User, "hi")}})); err != nil || finish.Reason != llm.Stop {
			t.Fatal(finish, err)
		}
	}
	if len(u.asked) != 3 || !strings.Contains(u.asked[2], `"reasoning":{"effort":"low"}`) || !strings.Contains(u.asked[2], "encrypted_content") {
		t.Errorf("%d requests: %s", len(u.asked), u.asked)
	}
}
