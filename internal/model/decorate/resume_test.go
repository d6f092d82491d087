package decorate

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// halting pauses as often as it is told, after one word each time.
type halting struct {
	pauses int
	dumb   bool // it says nothing before it pauses
	asked  []llm.Request
}

func (h *halting) Stream(_ context.Context, r llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		h.asked = append(h.asked, r)
		n := len(h.asked)
		word := fmt.Sprintf("word%d ", n)
		events := []llm.Event{{Type: llm.Sent}, {Type: llm.TextDelta, Text: word}, {Type: llm.Done, Part: &llm.Part{Type: llm.Text, Text: word}},
			{Type: llm.Used, Usage: &llm.Usage{Input: 10, Output: 1}}, {Type: llm.Used, Usage: &llm.Usage{Input: 10, Output: 4, Searches: 1}}}
		if h.dumb {
			events = events[:1]
		}
		end := llm.Finish{Reason: llm.Stop, Raw: "end_turn"}
		if n <= h.pauses {
			end = llm.Finish{Reason: llm.Paused, Raw: "pause_turn"}
		}
		for _, e := range append(events, llm.Event{Type: llm.Finished, Finish: end}) {
			if !yield(e) {
				return
			}
		}
	}
}

func TestAPausedAnswerIsOneAnswer(t *testing.T) {
	h := &halting{pauses: 2}
	messages := make([]llm.Message, 1, 5)
	messages[0] = llm.Say(llm.User, "hi")
	events := slices.Collect(WithResume(h).Stream(t.Context(), llm.Request{Model: "m", MaxTokens: 100, Messages: messages}))
	m, used, finish, err := llm.Collect(slices.Values(events))
	if err != nil || m.Text() != "word1 word2 word3 " || finish.Reason != llm.Stop || used != (llm.Usage{Input: 30, Output: 12, Searches: 3}) {
		t.Errorf("%+v %+v %+v %v", m, used, finish, err)
	}
	ends, indexes := 0, []int{}
	for _, e := range events {
		if e.Terminal() {
			ends++
		}
		if e.Type == llm.Done {
			indexes = append(indexes, e.Index)
		}
	}
	if ends != 1 || !slices.Equal(indexes, []int{0, 1, 2}) {
		t.Errorf("%d ends, parts %v", ends, indexes)
	}
	last := h.asked[2]
	if n := len(last.Messages); n != 2 || last.Messages[1].Role != llm.Assistant || last.Messages[1].Text() != "word1 word2 " || last.MaxTokens != 92 {
		t.Errorf("%+v", last)
	}
	if messages[:2][1].Role != "" {
		t.Error("the request was changed")
	}
}

func TestPausesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		model halting
		limit int64
		asked int
	}{
		"it pauses for ever":      {halting{pauses: 99}, 0, most},
		"the limit is used up":    {halting{pauses: 99}, 7, 2},
		"nothing was said":        {halting{pauses: 99, dumb: true}, 0, 1},
		"the consumer breaks off": {halting{pauses: 99}, -1, 1},
	} {
		limit := max(c.limit, 0)
		var finish llm.Finish
		for e := range WithResume(&c.model).Stream(t.Context(), llm.Request{Model: "m", MaxTokens: limit}) {
			finish = e.Finish
			if c.limit < 0 && e.Type == llm.Done {
				break
			}
		}
		if len(c.model.asked) != c.asked || c.limit >= 0 && finish != (llm.Finish{Reason: llm.Length, Raw: "pause_turn"}) {
			t.Errorf("%s: asked %d times, %+v", name, len(c.model.asked), finish)
		}
	}
}

// picky refuses schemas, or everything.
type picky struct {
	everything, late bool
	asked            []bool // with a schema?
}

func (p *picky) Stream(_ context.Context, r llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		p.asked = append(p.asked, len(r.Schema) > 0)
		if !yield(llm.Event{Type: llm.Sent}) {
			return
		}
		if len(r.Schema) > 0 || p.everything {
			if p.late && !yield(llm.Event{Type: llm.TextDelta, Text: "{"}) {
				return
			}
			yield(llm.Fail(fault.New(fault.ProviderBadRequest, "schema %v", len(r.Schema) > 0)))
			return
		}
		yield(llm.Event{Type: llm.Done, Part: &llm.Part{Type: llm.Text, Text: "{}"}})
		yield(llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: llm.Stop}})
	}
}

func askStructured(p llm.Provider, schema string) (string, error) {
	m, _, _, err := llm.Collect(WithRetry(p, RetryOptions{}).Stream(context.Background(), llm.Request{Model: "m", Schema: json.RawMessage(schema)}))
	return m.Text(), err
}

func TestARefusedSchemaIsLeftOutAndRemembered(t *testing.T) {
	vendor := &picky{}
	p := WithStructured(vendor)
	for range 2 {
		if said, err := askStructured(p, `{"type":"object"}`); said != "{}" || err != nil {
			t.Error(said, err)
		}
	}
	askStructured(p, `{"type":"string"}`) // another one may be taken
	askStructured(p, "")
	if want := []bool{true, false, false, true, false, false}; !slices.Equal(vendor.asked, want) {
		t.Errorf("%v", vendor.asked)
	}
}

func TestOtherRefusalsStay(t *testing.T) {
	vendor := &picky{everything: true}
	p := WithStructured(vendor)
	for range 2 {
		if _, err := askStructured(p, `{}`); !fault.Is(err, fault.ProviderBadRequest) || !strings.Contains(err.Error(), "false") {
			t.Error(err)
		}
	}
	if want := []bool{true, false, true, false}; !slices.Equal(vendor.asked, want) { // it was not the schema
		t.Errorf("%v", vendor.asked)
	}
	shown := &picky{late: true}
	if _, err := askStructured(WithStructured(shown), `{}`); err == nil || len(shown.asked) != 1 {
		t.Error(err, shown.asked) // what was shown cannot be taken back
	}
}
