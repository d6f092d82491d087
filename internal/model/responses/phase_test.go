package responses

import (
	"encoding/json"
	"strings"
	"testing"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

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
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func say(t *testing.T, known llm.Model, r llm.Request) string {
	t.Helper()
	p := &provider{model: func(string) llm.Model { return known }}
	_, value := p.encode(r)
	out, err := wire.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
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
