package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/driver/foreign"
	"ramet/internal/testkit"
)

// bring imports a session with a reader of some version, 0 the newest.
func bring(t *testing.T, w *Workspace, path string, reader int) Import {
	t.Helper()
	m := testkit.Must(w.History().Imports(t.Context()))(t)
	list := testkit.Must(foreign.In(t.Context(), path))(t)
	list[0].Reader = reader
	done := testkit.Must(m.Take(t.Context(), list[0], false))(t)
	sum := done.Taken
	for _, n := range done.Skipped {
		sum += n
	}
	if sum != done.Lines {
		t.Errorf("%s: %d of %d lines, skipped %v", path, done.Taken, done.Lines, done.Skipped)
	}
	return done
}

func proved(t *testing.T, w *Workspace, path string) Sourced {
	t.Helper()
	list := testkit.Must(foreign.In(t.Context(), path))(t)
	out := testkit.Must(w.History().CompareSource(t.Context(), list[0]))(t)
	return out
}

// add writes lines behind what a file has.
func add(t *testing.T, path string, lines ...string) {
	t.Helper()
	f := testkit.Must(os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))(t)
	defer f.Close()
	testkit.Must(f.WriteString(strings.Join(lines, "\n") + "\n"))(t)
}

func codexSaid(role, text string) string {
	return fmt.Sprintf(`{"timestamp":"2026-01-02T03:04:05Z","type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":"t","text":%q}]}}`, role, text)
}

func codexUsed(sum int) string {
	return fmt.Sprintf(`{"timestamp":"2026-01-02T03:05:%dZ","type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":9,"output_tokens":1},"total_token_usage":{"total_tokens":%d}}}}`, sum, sum)
}

// context is what an agent's model would be told, without what ramet says of the import.
func contextOf(t *testing.T, w *Workspace, done Import) string {
	t.Helper()
	var out []string
	for e, err := range history.Play(t.Context(), w.Store, done.Agent.ID) {
		testkit.OK(t, err)
		if parts, err := e.Parts(); err != nil {
			t.Fatal(err)
		} else if e.Kind != history.Notice {
			out = append(out, history.Plain(parts))
		}
	}
	return strings.Join(out, " ")
}

// A session that an older reader brought in is proved by that reader, and goes on as it was begun.
func TestImportsOfOlderReaders(t *testing.T) {
	w, path := open(t, nil), filepath.Join(t.TempDir(), "rollout-1.jsonl")
	add(t, path, `{"type":"session_meta","payload":{"id":"c"}}`, codexSaid("user", "a"), codexSaid("assistant", "b"), codexUsed(10), codexSaid("user", "c"))
	first := bring(t, w, path, 2)
	if first.Entries != 3 || first.Skipped["says nothing"] != 2 {
		t.Errorf("%+v", first)
	}
	if p := proved(t, w, path); p.Entries != 3 || p.Imported.Importer != 2 {
		t.Errorf("%+v", p)
	}
	if again := bring(t, w, path, 0); again.New || again.Entries != 0 || again.Branches != 0 {
		t.Errorf("%+v", again)
	}
	add(t, path, codexSaid("assistant", "d"), codexUsed(20))
	if grown := bring(t, w, path, 0); grown.New || grown.Entries != 1 || grown.Branches != 0 {
		t.Errorf("%+v", grown)
	}
	if p := proved(t, w, path); p.Entries != 4 || p.Imported.Importer != 2 {
		t.Errorf("%+v", p)
	}
	if got := contextOf(t, w, first); got != "a b c d" {
		t.Error(got)
	}
	list := testkit.Must(foreign.In(t.Context(), path))(t)
	list[0].Reader = foreign.Importer + 1
	m := testkit.Must(w.History().Imports(t.Context()))(t)
	if _, err := m.Take(t.Context(), list[0], false); !fault.Is(err, fault.StorageNewer) {
		t.Error(err)
	}
	about := proved(t, w, path).Imported // by a ramet of the future
	about.Importer = foreign.Importer + 1
	testkit.Must(w.Store.Append(t.Context(), first.Agent.ID, agent.Passing(), history.Draft{Kind: history.Import, Meta: history.Meta{Import: &about}}))(t)
	list[0].Reader = 0
	_, proof := w.History().CompareSource(t.Context(), list[0])
	if _, err := m.Take(t.Context(), list[0], false); !fault.Is(err, fault.StorageNewer) || !fault.Is(proof, fault.StorageNewer) {
		t.Error(err, proof)
	}
}

// A fork of Codex that points at its original is a fork by reference; one that points at a file which took the
// original back is found by the name of that file.
func TestForksThatPoint(t *testing.T) {
	w, dir := open(t, nil), t.TempDir()
	path := func(id string) string { return filepath.Join(dir, "rollout-2026-01-02T03-04-05-"+id+".jsonl") }
	add(t, path("c"), `{"type":"session_meta","payload":{"id":"c"}}`, codexSaid("user", "a"), codexSaid("assistant", "b"), codexUsed(10),
		`{"type":"event_msg","payload":{"type":"task_complete"}}`)
	info := testkit.Must(os.Stat(path("c")))(t)
	add(t, path("c"), codexSaid("user", "more"))
	head := func(id, of string) string {
		return fmt.Sprintf(`{"type":"session_meta","payload":{"id":%q,"forked_from_id":"c","history_base":{"thread_id":%q,"end_byte_offset":%d}}}`, id, of, info.Size())
	}
	origin := bring(t, w, path("c"), 0)
	add(t, path("f"), head("f", "c"), codexUsed(10), codexSaid("user", "another way"), codexSaid("assistant", "so"), codexUsed(20))
	fork := bring(t, w, path("f"), 0)
	if fork.Agent.Parent != origin.Agent.ID || contextOf(t, w, fork) != "a b another way so" || fork.Used == nil || fork.Used.Tokens != 10 || len(fork.Notes) > 0 {
		t.Errorf("%q, %+v", contextOf(t, w, fork), fork)
	}
	proved(t, w, path("f"))
	add(t, path("r"), head("c", "c"), codexSaid("user", "taken back"))
	back := bring(t, w, path("r"), 0)
	info = testkit.Must(os.Stat(path("r")))(t)
	add(t, path("g"), head("g", "r"), codexSaid("user", "from there"))
	if next := bring(t, w, path("g"), 0); contextOf(t, w, back) != "a b taken back" || contextOf(t, w, next) != "a b taken back from there" {
		t.Errorf("%q, %q", contextOf(t, w, back), contextOf(t, w, next))
	}
	add(t, path("l"), head("l", "lost"), codexSaid("user", "x"))
	if lost := bring(t, w, path("l"), 0); len(lost.Notes) != 1 || !strings.Contains(lost.Notes[0], "missing") {
		t.Errorf("%+v", lost)
	}
}

// What was used is counted once, however many copies of a session there are, and whichever comes first.
func TestCopiesCountOnce(t *testing.T) {
	w, dir := open(t, nil), t.TempDir()
	line := func(session, id, up string) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":%q,"parentUuid":%s,"sessionId":%q,"timestamp":"2026-01-02T03:04:0%s.001Z","message":{"id":"m%s","model":"claude-opus-4-7","content":"x","usage":{"input_tokens":9,"output_tokens":1}}}`, id, up, session, id, id)
	}
	copied, origin := filepath.Join(dir, "1.jsonl"), filepath.Join(dir, "2.jsonl")
	add(t, copied, line("f", "1", "null"), line("f", "2", `"1"`), line("f", "3", `"2"`))
	add(t, origin, line("o", "1", "null"), line("o", "2", `"1"`), line("o", "4", `"2"`))
	if done := bring(t, w, copied, 0); done.Used == nil || done.Used.Tokens != 30 {
		t.Errorf("%+v", done)
	}
	if done := bring(t, w, origin, 0); done.Used == nil || done.Used.Tokens != 10 || done.Entries != 3 {
		t.Errorf("%+v", done)
	}
	proved(t, w, origin)
}
