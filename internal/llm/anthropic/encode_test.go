package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"ramet/internal/llm"
	"ramet/internal/llm/wire"
)

func sent(t *testing.T, r llm.Request, known llm.Model) string {
	t.Helper()
	p := &provider{model: func(string) llm.Model { return known }}
	_, value := p.encode(r)
	out, err := value.(wire.Appender).AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
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
		"by effort":              {llm.Model{Thinks: true, Efforts: []string{"low", "high", "max"}}, 0, `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`},
		"by budget":              {llm.Model{Thinks: true, Output: 64000}, 0, `"thinking":{"type":"enabled","budget_tokens":24576}`},
		"within a small limit":   {llm.Model{Thinks: true}, 4000, `"thinking":{"type":"enabled","budget_tokens":2000}`},
		"not within a tiny one":  {llm.Model{Thinks: true}, 1000, `"temperature":0.5`},
		"not where it is unable": {llm.Model{}, 0, `"max_tokens":8192`},
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

// What is written by hand is what the library would read.
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
