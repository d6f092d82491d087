package session

import (
	"database/sql"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/driver/foreign"
	"ramet/internal/testkit"
)

// A reader of entries that are not readable reports that the history is damaged, instead of leaving them out.
func TestReadersReportDamagedEntries(t *testing.T) {
	x := newWorker(t)
	w, ctx, dir := x.w, t.Context(), t.TempDir()
	x.put("a", "1")
	asked, _ := x.turn(0, func(put func(path, text string)) { put("a", "2") })
	states, err := history.States(ctx, w.Store, x.a.ID)
	if err != nil || len(states) != 2 {
		t.Fatalf("%d states, %v", len(states), err)
	}
	testkit.OK(t, w.Models().SetEffort(ctx, x.a, "high"))
	testkit.Must(w.Store.Append(ctx, x.a.ID, agent.Passing(), registry.LimitEntry(history.Limit{By: "agent ada", Tools: []string{"kill"}})))(t)
	main, side := filepath.Join(dir, "s.jsonl"), filepath.Join(dir, "agent-77.jsonl")
	add(t, main, `{"type":"user","uuid":"a0","parentUuid":null,"sessionId":"s","message":{"content":"begin"}}`,
		`{"type":"assistant","uuid":"a1","parentUuid":"a0","sessionId":"s","message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"Task","input":{"prompt":"task"}}]}}`)
	add(t, side, `{"type":"user","uuid":"x0","parentUuid":null,"isSidechain":true,"agentId":"77","sessionId":"s","message":{"content":"task"}}`)
	bring(t, w, main, 0)
	source := testkit.Must(foreign.In(ctx, main))(t)
	db := testkit.Must(sql.Open("sqlite", w.Place.DB+"?_pragma=busy_timeout(5000)"))(t)
	defer db.Close()
	change := func(query string, args ...any) {
		t.Helper()
		testkit.Must(db.ExecContext(ctx, query, args...))(t)
	}
	harm := map[string]string{"content": "x'7b'", "meta": "'{'"}
	change(`CREATE TABLE kept AS SELECT id, content, meta FROM messages`)
	for _, c := range []struct {
		column string
		kind   history.Kind
		reader string
		read   func() error
	}{
		{"content", history.User, "Page", func() error { return failed(w.History().Page(ctx, x.a.ID, Span{Limit: 100})) }},
		{"meta", history.User, "Page", func() error { return failed(w.History().Page(ctx, x.a.ID, Span{Limit: 100})) }},
		{"content", history.User, "Timeline", func() error { return failed(w.History().Timeline(ctx, x.a.ID)) }},
		{"meta", history.User, "Timeline", func() error { return failed(w.History().Timeline(ctx, x.a.ID)) }},
		{"content", history.User, "WriteSession", func() error { return failed(w.History().WriteSession(ctx, x.a, "claude", io.Discard)) }},
		{"meta", history.Command, "Effort", func() error { return failed(w.Models().Effort(ctx, x.a)) }},
		{"meta", history.Command, "Admit", func() error { return failed(w.Admit(As(ctx, x.a.ID), "x", false, "kill")) }},
		{"meta", history.Files, "StateAt", func() error { return failed(w.Files().StateAt(ctx, x.a, asked)) }},
		{"meta", history.Files, "ShowStates", func() error { return failed(w.Files().ShowStates(ctx, x.a)) }},
		{"meta", history.Files, "DiffState", func() error { return failed(w.Files().DiffState(ctx, x.a, states[1].ID)) }},
		{"meta", history.Files, "Restore", func() error {
			return failed(w.Files().Restore(ctx, Restoring{Agent: x.a, Last: true, Plan: true}))
		}},
		{"meta", history.Files, "GCFiles", func() error { return failed(w.Care().GCFiles(ctx, Sweep{Plan: true})) }},
		{"meta", history.Files, "forgetFiles", func() error { return w.Care().forgetFiles(ctx, states[1].ID) }},
		{"meta", history.Import, "Imports", func() error { return failed(w.History().Imports(ctx)) }},
		{"meta", history.Assistant, "a second import", func() error { return failed(take(t, w, main, true)) }},
		{"meta", history.Assistant, "CompareSource", func() error { return failed(w.History().CompareSource(ctx, source[0])) }},
		{"content", history.Assistant, "CompareSource", func() error { return failed(w.History().CompareSource(ctx, source[0])) }},
		{"content", history.Assistant, "the import of a sub-agent", func() error { return failed(take(t, w, side, true)) }},
	} {
		change(fmt.Sprintf(`UPDATE messages SET %s = %s WHERE kind = ?`, c.column, harm[c.column]), c.kind)
		if err := c.read(); !fault.Is(err, fault.HistoryDamaged) {
			t.Errorf("%s with a damaged %s of %s entries: %v", c.reader, c.column, c.kind, err)
		}
		change(`UPDATE messages SET content = kept.content, meta = kept.meta FROM kept WHERE kept.id = messages.id`)
		if err := c.read(); err != nil {
			t.Errorf("%s: %v", c.reader, err)
		}
	}
	change(`DROP TABLE kept`)
}
