package foreign

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// writes is how a program writes a session in this test: a head, messages and lines of a type
// that nobody knows. Those of Codex stand one behind the other, and have no names.
type writes struct {
	head    func(version string) string
	message func(id, up, text string) string
	strange string
	kind    string // of the strange line
	tree    bool
	newer   string // a version that nobody knows
}

func quoted(up string) string {
	if up == "" {
		return "null"
	}
	return `"` + up + `"`
}

var forms = map[string]writes{
	Claude: {func(v string) string { return `{"type":"mode","sessionId":"s","version":"` + v + `"}` },
		func(id, up, text string) string {
			return fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":%s,"sessionId":"s","message":{"content":%q}}`, id, quoted(up), text)
		}, `{"type":"fancy","sessionId":"s","x":1}`, "fancy", true, "3.0.0"},
	Codex: {func(v string) string { return `{"type":"session_meta","payload":{"id":"s","cli_version":"` + v + `"}}` },
		func(_, _, text string) string {
			return fmt.Sprintf(`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}}`, text)
		}, `{"type":"event_msg","payload":{"type":"fancy"}}`, "event_msg fancy", false, "1.0.0-alpha.1"},
	Pi: {func(v string) string { return `{"type":"session","id":"s","version":` + v + `}` },
		func(id, up, text string) string {
			return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"message":{"role":"user","content":%q}}`, id, quoted(up), text)
		}, `{"type":"fancy","id":"f","parentId":"1"}`, "fancy", true, "4"},
}

// What no program should write, of each form: nothing is lost without a reason, and nothing is guessed.
func TestBadSessions(t *testing.T) {
	for program, f := range forms {
		old := map[string]string{Claude: "2.1.3", Codex: "0.150.0", Pi: "3"}[program]
		one, two := f.message("1", "", "a"), f.message("2", "1", "b")
		for name, c := range map[string]struct {
			lines   []string
			want    string
			skipped map[string]int64 // besides the head, that says nothing
			tree    bool             // only where lines have names
		}{
			"whole":                       {[]string{one, two}, "user:a [user:b]", nil, false},
			"a type that nobody knows":    {[]string{one, f.strange, two}, "user:a; note:" + f.strange + " [user:b]", nil, false},
			"no JSON, and an empty line":  {[]string{one, "{", "", two}, "user:a [user:b]", map[string]int64{"no JSON of the program": 1, "empty": 1}, false},
			"a line that is cut":          {[]string{one, two[:len(two)-9]}, "user:a", map[string]int64{"not ended": 1}, false},
			"a missing parent":            {[]string{one, f.message("2", "gone", "b")}, "user:a | user:b", nil, true},
			"a cycle":                     {[]string{f.message("1", "2", "a"), two}, "user:a [user:b]", nil, true},
			"a cycle beside a tree":       {[]string{one, f.message("2", "3", "b"), f.message("3", "2", "c")}, "user:a | user:b [user:c]", nil, true},
			"an id twice":                 {[]string{one, one, two}, "user:a [user:b]", map[string]int64{"the same id twice": 1}, true},
			"an id twice, in other words": {[]string{one, f.message("1", "", "z"), two}, "user:a [user:b]", map[string]int64{"the same id twice": 1}, true},
		} {
			if c.tree && !f.tree {
				continue
			}
			text := f.head(old) + "\n" + strings.Join(c.lines, "\n")
			if c.skipped["not ended"] == 0 {
				text += "\n"
			}
			path := filepath.Join(t.TempDir(), "s.jsonl")
			testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
			s := open(t, path)
			want := map[string]int64{"says nothing": 1}
			maps.Copy(want, c.skipped)
			if got := drawn(t, s.Roots()); got != c.want || !maps.Equal(s.Skipped, want) || s.Newer != "" || s.Program != program {
				t.Errorf("%s, %s: %s, skipped %v, %q", program, name, got, s.Skipped, s.Newer)
			}
			if kinds := map[string]int64{f.kind: 1}; strings.Contains(text, f.strange) && !maps.Equal(s.Unknown, kinds) {
				t.Errorf("%s, %s: unknown %v", program, name, s.Unknown)
			}
			whole(t, s)
		}
		if s := open(t, lines(t, f.head(f.newer), one)); !strings.Contains(s.Newer, "newer than") {
			t.Errorf("%s %s: %q", program, f.newer, s.Newer)
		}
	}
}

// The database of opencode, of a version to come, with rows of no role and parts of no type; one of its
// messages is being written.
func TestBadOpencode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	db := testkit.Must(sql.Open("sqlite", path))(t)
	defer db.Close()
	for _, q := range []string{
		`PRAGMA journal_mode=WAL`,
		`CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_created INTEGER)`,
		`CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)`,
		`CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT)`,
		`INSERT INTO session VALUES ('s','gone','/x','t','2.0.1',1)`,
		`INSERT INTO message VALUES ('1','s',1,'{"role":"user"}'), ('2','s',2,'no JSON'), ('3','s',3,'{"role":"assistant","time":{"completed":9}}'), ('4','s',4,'{"role":"assistant","time":{}}')`,
		`INSERT INTO part VALUES ('1','1','s',1,'{"type":"text","text":"a"}'), ('2','3','s',1,'{"type":"fancy","x":1}'), ('3','3','s',1,'{"type":"text","text":"b"}'), ('4','4','s',1,'{"type":"text","text":"being wri"}')`,
	} {
		testkit.Must(db.Exec(q))(t)
	}
	s := open(t, path) // while the program has it open
	want := `user:a; note:{"type":"unknown","id":"2","parts":["no JSON"]} [assistant:{"type":"fancy","x":1} b]`
	if got := drawn(t, s.Roots()); got != want || s.Unknown["unknown"] != 1 || !strings.Contains(s.Newer, "opencode 2.0.1 is newer than") || s.Of != "gone" {
		t.Errorf("%s, unknown %v, %q, of %q", got, s.Unknown, s.Newer, s.Of)
	}
	whole(t, s)
}

func TestNewerVersions(t *testing.T) {
	for version, want := range map[string]bool{"2.1.999": false, "2.0.1": false, "2.2.0": true, "v3.0": true, "10.0.0": true, "": false, "nightly": false, "2": false} {
		if got := newer(Claude, version) != ""; got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}

// A fork of Codex tells what it used itself: not what it was copied with, and not the sum that it begins with.
func TestForksOfCodexCountTheirOwn(t *testing.T) {
	const id, before, after = "01a1e3b4-9000-7000-8000-000000000000", "01a1e3b4-8000-7000-8000-000000000000", "01a1e3b4-a000-7000-8000-000000000000"
	turn := func(id string) string { return fmt.Sprintf(`{"type":"turn_context","payload":{"turn_id":%q}}`, id) }
	used := func(sum int) string {
		return fmt.Sprintf(`{"timestamp":"2026-11-16T09:16:00Z","type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":9,"output_tokens":1},"total_token_usage":{"total_tokens":%d}}}}`, sum)
	}
	said := `{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}}`
	meta := func(more string) string {
		return `{"timestamp":"2026-11-16T09:15:59Z","type":"session_meta","payload":{"id":"` + id + `","forked_from_id":"o"` + more + `}}`
	}
	base := `,"history_base":{"thread_id":"o","end_byte_offset":77}`
	for name, c := range map[string]struct {
		lines  []string
		reader int
		want   int64
	}{
		"a copy":             {[]string{meta(""), turn(before), said, used(10), said, used(20), turn(after), said, used(30)}, 0, 2},
		"as it was read":     {[]string{meta(""), turn(before), said, used(10), said, used(20), turn(after), said, used(30)}, 3, 0},
		"a pointer":          {[]string{meta(base), turn(after), used(20), said, used(30)}, 0, 1},
		"an old copy":        {[]string{strings.Replace(meta(""), id, "c", 1), said, strings.Replace(used(10), "16:00Z", "15:59.9Z", 1), said, used(20)}, 0, 1},
		"nobody's copy":      {[]string{strings.Replace(meta(""), `"o"`, `""`, 1), turn(before), said, used(10), used(10)}, 0, 0},
		"a pointer that was": {[]string{meta(base), turn(after), used(20), said, used(30)}, 2, 0},
	} {
		found := testkit.Must(In(t.Context(), lines(t, c.lines...)))(t)
		found[0].Reader = c.reader
		s := testkit.Must(Open(t.Context(), found[0], 0))(t)
		if got := s.Skipped["comes from its original"]; got != c.want {
			t.Errorf("%s: %v", name, s.Skipped)
		}
		whole(t, s)
		s.Close()
	}
}

// A line that nobody could want is not held, wherever its end is, and what stands around it is read.
func TestALineWithoutEndIsNotHeld(t *testing.T) {
	f := forms[Claude]
	for name, end := range map[string]string{"ended": "\n", "not ended": ""} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		file := testkit.Must(os.Create(path))(t)
		sum := sha256.New()
		out := io.Writer(file)
		if end != "" {
			out = io.MultiWriter(file, sum)
		}
		fmt.Fprintln(io.MultiWriter(file, sum), f.message("1", "", "a"))
		piece := bytes.Repeat([]byte("x"), 1<<20)
		for range 3 * maxLine >> 20 {
			out.Write(piece)
		}
		io.WriteString(out, end)
		if end != "" {
			fmt.Fprintln(out, f.message("2", "1", "b"))
		}
		testkit.OK(t, file.Close())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := Open(t.Context(), Found{Program: Claude, Path: path}, 0)
		runtime.ReadMemStats(&after)
		testkit.OK(t, err)
		if got := after.TotalAlloc - before.TotalAlloc; got > 6*maxLine { // growing to maxLine takes some five times as much
			t.Errorf("%s: %d MB were taken for a line that is skipped", name, got>>20)
		}
		if want := hex.EncodeToString(sum.Sum(nil)); s.SHA256 != want {
			t.Errorf("%s: the sum is %s, not %s", name, s.SHA256, want)
		}
		if want := map[string]int64{"ended": 2, "not ended": 1}[name]; s.Taken() != want || s.Skipped["too long"]+s.Skipped["not ended"] != 1 {
			t.Errorf("%s: %d lines, skipped %v", name, s.Taken(), s.Skipped)
		}
		s.Close()
	}
}

// Who begins with an image has a first line that is long.
func TestALongFirstLineTellsWhoWroteIt(t *testing.T) {
	for program, f := range forms {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		text := f.message("1", "", strings.Repeat("x", 1<<20)) + "\n"
		if program == Pi {
			text = `{"type":"session","id":"s","version":3,"x":"` + strings.Repeat("x", 1<<20) + `"}` + "\n"
		}
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		if found, err := In(t.Context(), path); err != nil || len(found) != 1 || found[0].Program != program {
			t.Errorf("%s: %v, %v", program, found, err)
		}
	}
}
