package foreign

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

// written is a file of these lines.
func lines(t testing.TB, list ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.jsonl")
	testkit.OK(t, os.WriteFile(path, []byte(strings.Join(list, "\n")+"\n"), 0o600))
	return path
}

func open(t testing.TB, path string) *Source {
	t.Helper()
	found := testkit.Must(In(t.Context(), path))(t)
	s := testkit.Must(Open(t.Context(), found[0], 0))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

// drawn is a tree in words: each node with its entries, children in brackets.
func drawn(t testing.TB, nodes []Node) string {
	var out []string
	for _, n := range nodes {
		var said []string
		for _, i := range n.Items() {
			one := testkit.Must(i.Read())(t)
			kinds := ""
			for _, p := range one.Parts {
				if p.Type != history.Text {
					kinds += " " + string(p.Type)
				} else {
					kinds += " " + p.Text
				}
			}
			said = append(said, string(one.Kind)+":"+strings.TrimSpace(kinds))
		}
		word := strings.Join(said, "; ")
		if kids := n.Kids(); len(kids) > 0 {
			word += " [" + drawn(t, kids) + "]"
		}
		out = append(out, word)
	}
	return strings.Join(out, " | ")
}

func says(kind, id, up, text string) string {
	if up != "null" {
		up = `"` + up + `"`
	}
	return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"s","message":{"id":%q,"content":%q}}`, kind, id, up, "m"+id, text)
}

func TestTrees(t *testing.T) {
	calls := []string{says("user", "u1", "null", "q"),
		`{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m","content":[{"type":"tool_use","id":"A","name":"Read","input":{}}]}}`,
		`{"type":"user","uuid":"r1","parentUuid":"a1","message":{"content":[{"type":"tool_result","tool_use_id":"A","content":"ra"}]}}`,
		`{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"id":"m","content":[{"type":"tool_use","id":"B","name":"Bash","input":{}}]}}`,
		`{"type":"user","uuid":"r2","parentUuid":"a2","message":{"content":[{"type":"tool_result","tool_use_id":"B","content":"rb"}]}}`,
		says("assistant", "a3", "r2", "done")}
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"calls beside each other are no branches": {calls, "user:q [assistant:tool_call tool_call; tool_result:tool_result; tool_result:tool_result [assistant:done]]"},
		"branches": {[]string{says("user", "1", "null", "a"), says("assistant", "2", "1", "b"), says("user", "3", "2", "c"), says("user", "4", "2", "d")},
			"user:a [assistant:b [user:c | user:d]]"},
		"a missing parent is a root":  {[]string{says("user", "1", "null", "a"), says("user", "2", "gone", "b")}, "user:a | user:b"},
		"a cycle is opened":           {[]string{says("user", "1", "3", "a"), says("assistant", "2", "1", "b"), says("user", "3", "2", "c")}, "user:a [assistant:b [user:c]]"},
		"its own parent":              {[]string{says("user", "1", "1", "a")}, "user:a"},
		"children before parents":     {[]string{says("assistant", "2", "1", "b"), says("user", "1", "null", "a")}, "user:a [assistant:b]"},
		"the second of an id is lost": {[]string{says("user", "1", "null", "a"), says("user", "1", "null", "b")}, "user:a"},
		"silent ones are passed through": {[]string{says("user", "1", "null", "a"), `{"type":"progress","uuid":"2","parentUuid":"1","sessionId":"s"}`, says("assistant", "3", "2", "b")},
			"user:a [assistant:b]"},
		"what nobody knows is kept": {[]string{says("user", "1", "null", "a"), `{"type":"new","x":1}`, says("assistant", "2", "1", "b")}, `user:a; note:{"type":"new","x":1} [assistant:b]`},
		"also before all others":    {[]string{`{"type":"new","sessionId":"s"}`, says("user", "1", "null", "a")}, `user:a; note:{"type":"new","sessionId":"s"}`},
		"a summary": {[]string{says("user", "1", "null", "a"), `{"type":"system","subtype":"compact_boundary","uuid":"2","parentUuid":null,"logicalParentUuid":"1"}`,
			`{"type":"user","uuid":"3","parentUuid":"2","isCompactSummary":true,"message":{"content":"in short"}}`}, "user:a [compact:in short]"},
	} {
		s := open(t, lines(t, c.lines...))
		if got := drawn(t, s.Roots()); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		whole(t, s)
	}
}

// whole demands that every line is taken once or skipped with a reason.
func whole(t testing.TB, s *Source) {
	t.Helper()
	seen := map[int64]bool{}
	var walk func([]Node)
	walk = func(nodes []Node) {
		for _, n := range nodes {
			for _, i := range n.Items() {
				for _, b := range i.At {
					if seen[b.Offset] {
						t.Errorf("the line at %d is taken twice", b.Offset)
					}
					seen[b.Offset] = true
				}
			}
			walk(n.Kids())
		}
	}
	walk(s.Roots())
	told := 0
	for i, at := range s.Stretches() {
		if n, ok := s.Index(at.Offset); !ok || n != i || !seen[at.Offset] {
			t.Errorf("line %d at %d is not found", i, at.Offset)
		}
		told++
	}
	if int64(len(seen)) != s.Taken() || told != len(seen) {
		t.Errorf("%d lines are in entries, %d should be; of %d, skipped %v", len(seen), s.Taken(), s.Lines, s.Skipped)
	}
}

func TestCodex(t *testing.T) {
	item := func(s string) string {
		return `{"timestamp":"2026-01-02T03:04:05Z","type":"response_item","payload":` + s + `}`
	}
	s := open(t, lines(t,
		`{"type":"session_meta","payload":{"id":"c1","cwd":"/x","cli_version":"1.2","source":{"subagent":{"thread_spawn":{"parent_thread_id":"c0"}}},"history_base":{"thread_id":"c9","end_byte_offset":77}}}`,
		item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,cG5n"}]}`),
		item(`{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"E"}`),
		item(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look"}],"phase":"commentary"}`),
		item(`{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"1"}`),
		item(`{"type":"custom_tool_call","name":"apply_patch","input":"*** x","call_id":"2"}`),
		`{"type":"event_msg","payload":{"type":"token_count"}}`,
		item(`{"type":"function_call_output","call_id":"1","output":"out"}`),
		item(`{"type":"custom_tool_call_output","call_id":"2","output":{"content":"bad","success":false}}`),
		`{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":2}}`,
		`{"type":"compacted","payload":{"message":"short"}}`,
		item(`{"type":"ghost"}`)))
	want := "user:see image [assistant:thinking I look tool_call tool_call; tool_result:tool_result; tool_result:tool_result [rewind: [compact:short; " +
		`note:{"timestamp":"2026-01-02T03:04:05Z","type":"response_item","payload":{"type":"ghost"}}]]]`
	if got := drawn(t, s.Roots()); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if s.ID != "c1" || s.Of != "c0" || s.Base != (Base{"c9", 77}) || s.Version != "1.2" {
		t.Errorf("%+v", s.Session)
	}
	said, err := s.Roots()[0].Kids()[0].Items()[0].Read()
	if p := said.Parts[0]; err != nil || p.Origin != "openai-responses" || !strings.Contains(string(p.Opaque), `"encrypted_content":"E"`) {
		t.Errorf("%+v %v", p, err)
	}
	whole(t, s)
}

func TestOpencode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	db := testkit.Must(sql.Open("sqlite", path))(t)
	for _, q := range []string{
		`CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_created INTEGER)`,
		`CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)`,
		`CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT)`,
		`INSERT INTO session VALUES ('ses_2','ses_1','/x','sub','1.2',2), ('ses_1',NULL,'/x','main','1.2',1)`,
		`INSERT INTO message VALUES ('m1','ses_1',1,'{"role":"user"}'), ('m2','ses_1',2,'{"role":"assistant","providerID":"anthropic","modelID":"claude","time":{"completed":9}}'), ('m3','ses_1',3,'{"role":"assistant","time":{}}')`,
		`INSERT INTO part VALUES ('p1','m1','ses_1',1,'{"type":"text","text":"hello"}'),
			('p2','m2','ses_1',1,'{"type":"step-start"}'), ('p3','m2','ses_1',1,'{"type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"S"}}}'),
			('p4','m2','ses_1',1,'{"type":"tool","tool":"edit","callID":"c","state":{"status":"completed","input":{"a":1},"output":"done"}}'),
			('p5','m2','ses_1',1,'{"type":"step-start"}'), ('p6','m2','ses_1',1,'{"type":"text","text":"so"}'), ('p7','m3','ses_1',1,'{"type":"text","text":"being wri"}')`,
	} {
		testkit.Must(db.Exec(q))(t)
	}
	db.Close()
	before := testkit.Must(os.ReadFile(path))(t)
	found, err := In(t.Context(), path)
	if err != nil || len(found) != 2 || found[0].Session != "ses_1" {
		t.Fatal(found, err)
	}
	s := open(t, path)
	if got := drawn(t, s.Roots()); got != "user:hello [assistant:thinking tool_call; tool_result:tool_result [assistant:so]]" {
		t.Error(got)
	}
	if s.Title != "main" || s.Cwd != "/x" || s.Model != "anthropic/claude" {
		t.Errorf("%+v", s.Session)
	}
	whole(t, s)
	sub, err := Open(t.Context(), found[1], 0)
	if err != nil || sub.Of != "ses_1" {
		t.Fatal(sub, err)
	}
	sub.Close()
	if after, err := os.ReadFile(path); err != nil || !slices.Equal(before, after) {
		t.Error("the database was changed", err)
	}
}

func TestALineThatIsNotEndedWaits(t *testing.T) {
	path := lines(t, says("user", "1", "null", "a"))
	f := testkit.Must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	f.WriteString(says("assistant", "2", "1", "b"))
	f.Close()
	s := open(t, path)
	if got := drawn(t, s.Roots()); got != "user:a" || s.Skipped["not ended"] != 1 || s.Lines != 2 {
		t.Error(got, s.Skipped)
	}
	whole(t, s)
}

func FuzzSources(f *testing.F) {
	f.Add(says("user", "1", "null", "a") + "\n" + says("assistant", "2", "1", "b") + "\n{\"type\":\"x\"}\n")
	f.Add(`{"type":"session","id":"p","version":9}` + "\n" + `{"type":"message","id":"1","parentId":"2","message":{"role":"user","content":[]}}` + "\n")
	f.Add(`{"type":"session_meta","payload":{"id":"c"}}` + "\n" + `{"type":"compacted","payload":{"replacement_history":[{"role":"user","content":"x"}]}}` + "\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "f.jsonl")
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		for _, program := range []string{Claude, Codex, Pi} {
			s := testkit.Must(Open(context.Background(), Found{Program: program, Path: path}, 0))(t)
			whole(t, s)
			drawn(t, s.Roots())
			s.Close()
		}
	})
}

// Whatever lines say of each other, each is taken once or skipped.
func TestRandomTreesAreWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.jsonl")
	r := rand.New(rand.NewPCG(1, 2))
	kinds := []string{"user", "assistant", "system", "progress", "new", "message", "compaction"}
	for n := range 400 {
		var text strings.Builder
		for range r.IntN(12) {
			id, up := fmt.Sprint(r.IntN(8)), fmt.Sprintf("%q", fmt.Sprint(r.IntN(9)))
			if r.IntN(5) == 0 {
				up = "null"
			}
			content := `"x"`
			if r.IntN(3) == 0 {
				content = `[{"type":"tool_result","tool_use_id":"a","content":"b"}]`
			}
			fmt.Fprintf(&text, `{"type":%q,"uuid":%q,"id":%q,"parentUuid":%s,"parentId":%s,"sessionId":"s","isSidechain":%v,"message":{"role":"user","id":"m%d","content":%s}}`+"\n",
				kinds[r.IntN(len(kinds))], id, id, up, up, r.IntN(5) == 0, r.IntN(3), content)
		}
		testkit.OK(t, os.WriteFile(path, []byte(text.String()), 0o600))
		for _, program := range []string{Claude, Pi} {
			s := testkit.Must(Open(t.Context(), Found{Program: program, Path: path}, 0))(t)
			whole(t, s)
			drawn(t, s.Roots())
			s.Close()
		}
		if t.Failed() {
			t.Fatalf("%d\n%s", n, text.String())
		}
	}
}
