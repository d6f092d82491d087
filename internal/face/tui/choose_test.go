package tui

import (
	"encoding/json"
	"testing"

	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// A model that was chosen is the agent's once an entry says so: it is not sent again, and
// one that somebody else told the agent stays.
func TestAChoiceOfAModelIsCarriedOutOnce(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.useModel(llm.Ref{Vendor: "anthropic", Name: "claude-x"})
	if x.now.model.Name != "claude-x" {
		t.Fatalf("%+v", x.now.model)
	}
	draft := registry.ModelEntry("openai", "gpt-5")
	meta, err := json.Marshal(draft.Meta)
	if err != nil {
		t.Fatal(err)
	}
	event(x, loop.Event{Type: loop.Recorded, Agent: x.now.agent, Entry: &history.Entry{ID: 9999, Agent: x.now.agent, Kind: history.Command, Meta: meta}})
	if x.now.model != (llm.Ref{}) {
		t.Errorf("it would be sent again: %v", x.now.model)
	}
	if got := x.models[x.now.agent]; got.err != nil {
		t.Errorf("%+v", got)
	}
}
