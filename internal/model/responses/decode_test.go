package responses

import (
	"testing"

	"ramet/internal/model/llm"
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
