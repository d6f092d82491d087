package decorate

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

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
	m, _, _, err := llm.Collect(p.Stream(context.Background(), llm.Request{Model: "m", Schema: json.RawMessage(schema)}))
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
