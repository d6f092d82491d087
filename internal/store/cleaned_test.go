package store_test

import (
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
)

// A vendor accepts a part back only with the signature it gave for exactly these bytes: a part
// that is stored as it came keeps it, one that had to be changed loses it.
func TestSignaturesAreKeptUnlessTheSignedPartChanged(t *testing.T) {
	s := openCleaned(t)
	zero := testkit.Must(s.Zero(t.Context()))(t).ID
	for name, c := range map[string]struct {
		part history.Part
		kept bool
	}{
		"text":              {history.Part{Type: history.Text, Text: "plain", Signature: "sig", Opaque: []byte(`{"a":1}`)}, true},
		"text with a key":   {history.Part{Type: history.Text, Text: "my hunter2", Signature: "sig", Opaque: []byte(`{"a":1}`)}, false},
		"call":              {history.Part{Type: history.ToolCall, CallID: "1", Name: "bash", Args: []byte(`{"command":"ls"}`), Signature: "sig"}, true},
		"call with a key":   {history.Part{Type: history.ToolCall, CallID: "2", Name: "bash", Args: []byte(`{"command":"hunter2"}`), Signature: "sig"}, false},
		"malformed call":    {history.Part{Type: history.ToolCall, CallID: "3", Name: "bash", Malformed: `{"command`, Signature: "sig"}, true},
		"malformed, a key":  {history.Part{Type: history.ToolCall, CallID: "4", Name: "bash", Malformed: `{"hunter2`, Signature: "sig"}, false},
		"opaque with a key": {history.Part{Type: history.Text, Text: "plain", Signature: "sig", Opaque: []byte(`{"a":"hunter2"}`)}, false},
		"no opaque":         {history.Part{Type: history.Text, Text: "plain", Signature: "sig"}, true},
	} {
		draft := history.Draft{Kind: history.Assistant, Parts: []history.Part{c.part}}
		got := testkit.Must(testkit.Must(s.Append(t.Context(), zero, agent.Passing(), draft))(t)[0].Parts())(t)[0]
		want := history.Part{}
		if c.kept {
			want = c.part
		}
		if got.Signature != want.Signature || string(got.Opaque) != string(want.Opaque) {
			t.Errorf("%s: stored with signature %q and opaque %q, want %q and %q", name, got.Signature, got.Opaque, want.Signature, want.Opaque)
		}
		if strings.Contains(got.Text+string(got.Args)+got.Malformed+string(got.Opaque), "hunter2") {
			t.Errorf("%s: the key is stored", name)
		}
	}
}

// No verb stores a credential, in any field that it takes.
func TestNoVerbStoresACredential(t *testing.T) {
	s := openCleaned(t)
	ctx := t.Context()
	zero := testkit.Must(s.Zero(ctx))(t).ID
	child := registry.Child{ID: id.NewAgent(), Name: "hunter2"}
	if _, err := s.Fork(ctx, registry.Fork{Parent: zero, Children: []registry.Child{child}}); err == nil {
		t.Error("a child is named by a key")
	}
	child.Name = "ada"
	child.Entries = []history.Draft{testkit.Must(history.Say(history.User, "hunter2"))(t)}
	testkit.Must(s.Fork(ctx, registry.Fork{Parent: zero, Children: []registry.Child{child}, Entries: []history.Draft{testkit.Must(history.Say(history.User, "hunter2"))(t)}}))(t)
	if _, err := s.Rename(ctx, child.ID, agent.Passing(), "hunter2"); err == nil {
		t.Error("an agent is renamed to a key")
	}
	testkit.Must(s.Send(ctx, registry.Send{From: child.ID, To: zero, Body: "it is hunter2"}))(t)
	testkit.Must(s.Append(ctx, zero, agent.Passing(), history.Draft{Kind: history.Mark, Meta: history.Meta{Label: "hunter2"}}))(t)
	testkit.Must(s.Kill(ctx, registry.Kill{Agent: child.ID, Reason: "hunter2"}))(t)
	stored := 0
	for _, a := range []id.Agent{zero, child.ID} {
		for e, err := range s.QueryRange(ctx, history.Range{Agent: a, End: history.NoLimit}, history.Selection{}) {
			testkit.OK(t, err)
			if text := string(e.Meta) + string(e.Content); strings.Contains(text, "hunter2") {
				t.Errorf("stored: %s", text)
			}
			stored++
		}
	}
	if stored < 6 {
		t.Errorf("only %d entries were looked at", stored)
	}
}

func openCleaned(t *testing.T) *store.Cleaned {
	t.Helper()
	dir := t.TempDir()
	opened := testkit.Must(sqlite.Open(t.Context(), filepath.Join(dir, "ramet.db"), sqlite.Options{Cwd: dir}))(t)
	s := store.Clean(opened, func(text string) string { return strings.ReplaceAll(text, "hunter2", "[KEY]") })
	t.Cleanup(func() { s.Close() })
	return s
}
