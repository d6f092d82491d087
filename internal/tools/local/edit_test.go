package local

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

func TestEditMakesSeveralChangesOrNone(t *testing.T) {
	const before = "package a\n\nfunc one() {}\n\nvar x = 1\n\nfunc two() {}\n"
	d := newDesk(t, "a.go", before)
	d.works("read", args{"path": "a.go"}, "one")
	d.fails("edit", args{"path": "a.go", "edits": []args{{"old_string": "one", "new_string": "eins"}, {"old_string": "three", "new_string": "drei"}}},
		"a.go: edit 2 of 2: old_string is not in the file.")
	d.fails("edit", args{"path": "a.go", "old_string": "x", "new_string": "y", "edits": []args{{"old_string": "one", "new_string": "eins"}}}, "not both")
	d.fails("edit", args{"path": "a.go"}, "old_string is missing")
	if d.get("a.go") != before {
		t.Fatal(d.get("a.go"))
	}
	got := d.works("edit", args{"path": "a.go", "edits": []args{
		{"old_string": "func two() {}", "new_string": "func two() {\n\tone()\n}"}, {"old_string": "one", "new_string": "eins", "replace_all": "true"}}}, "Edited a.go in 3 places.")
	want := "Edited a.go in 3 places. Now:\n     2\t\n     3\tfunc eins() {}\n     4\t\n…\n     6\t\n     7\tfunc two() {\n     8\t\teins()\n     9\t}\n"
	if got.Text != want {
		t.Errorf("%q, want %q", got.Text, want)
	}
	if d.get("a.go") != "package a\n\nfunc eins() {}\n\nvar x = 1\n\nfunc two() {\n\teins()\n}\n" {
		t.Errorf("%q", d.get("a.go"))
	}
	d.fails("edit", args{"path": "a.go", "old_string": "func two() {\n    eins()\n}", "new_string": "x"},
		"But for spaces and tabs it is in lines 7 to 9:\n     7\tfunc two() {\n     8\t\teins()\n     9\t}\n")
}

// A text that stands in a file very often is replaced in one pass: one after another took minutes, in
// which nobody could stop it. What would be too large is refused before it takes the memory.
func TestReplaceAllOfVeryManyPlaces(t *testing.T) {
	const n = 1 << 20
	d := newDesk(t, "lines", strings.Repeat("a 1\n", n), "line", strings.Repeat("a,", n))
	for _, file := range []string{"lines", "line"} {
		d.works("read", args{"path": file, "limit": 1}, "")
		d.works("edit", args{"path": file, "old_string": "a", "new_string": "bb", "replace_all": true}, "in 1048576 places")
		d.works("edit", args{"path": file, "old_string": "b", "new_string": "c", "replace_all": true}, "in 2097152 places")
		d.fails("edit", args{"path": file, "old_string": "c", "new_string": strings.Repeat("x", 1<<20), "replace_all": true}, "more than 16 MiB")
	}
	if d.get("lines") != strings.Repeat("cc 1\n", n) || d.get("line") != strings.Repeat("cc,", n) {
		t.Error("the files are others")
	}
}

// Where a file has both kinds of line ends, which is not to be seen when it is read, that is told.
func TestLineEndsOfTwoKindsAreTold(t *testing.T) {
	d := newDesk(t, "a", "zero\none\r\ntwo\r\nthree\n")
	d.works("read", args{"path": "a"}, "one")
	d.fails("edit", args{"path": "a", "old_string": "one\ntwo\nthree", "new_string": "x"}, `\r\n in lines 2, 3, \n in others`)
	d.works("edit", args{"path": "a", "old_string": "one\r\ntwo\r\nthree", "new_string": "x"}, "Edited")
	if d.get("a") != "zero\nx\n" {
		t.Errorf("%q", d.get("a"))
	}
}

func TestAFileThatChangedElsewhereIsEdited(t *testing.T) {
	d := newDesk(t, "a", "one\ntwo\nthree\n")
	d.works("read", args{"path": "a"}, "one")
	d.put("a", "one\ntwo\n3\nfour\n")
	d.works("edit", args{"path": "a", "old_string": "one", "new_string": "1"}, "it had changed since you saw it, elsewhere")
	d.fails("edit", args{"path": "a", "old_string": "three", "new_string": "x"}, "It has changed since it was read.")
	d.fails("edit", args{"path": "a", "old_string": "two", "new_string": "x", "replace_all": true}, "Read it again")
	d.fails("write", args{"path": "a", "content": "mine"}, "has changed since")
	if d.get("a") != "1\ntwo\n3\nfour\n" {
		t.Errorf("%q", d.get("a"))
	}
	d.works("read", args{"path": "a"}, "four")
	d.works("write", args{"path": "a", "content": "mine"}, "Replaced")
}

// What was seen is known to others who have the same history, and only to them.
func TestWhatWasSeenStandsInTheHistory(t *testing.T) {
	d := newDesk(t, "a", "one\n", "b", "b\n", "c", "c\n")
	var memos []json.RawMessage
	keep := func(a tool.Answer) {
		t.Helper()
		if a.Memo == "" || !json.Valid([]byte(a.Memo)) {
			t.Fatalf("%+v", a)
		}
		memos = append(memos, json.RawMessage(a.Memo))
	}
	keep(d.works("read", args{"path": "a"}, "one"))
	keep(d.works("edit", args{"path": "a", "old_string": "one", "new_string": "two"}, "Edited"))
	keep(d.works("write", args{"path": "new", "content": "new"}, "Made"))
	keep(d.works("read", args{"path": "b"}, "b"))
	d.put("b", "B\n")
	memos = append(memos, json.RawMessage(`{"other":1}`), json.RawMessage(`{"saw":"no map"}`), json.RawMessage(`{"saw":{"c":"ff"}}`))

	later := &desk{T: t, root: d.root, outside: d.outside}
	later.local = testkit.Must(New(d.local.o))(t)
	later.fails("write", args{"path": "a", "content": "x"}, "was not read yet")
	for _, one := range later.local.Tools() {
		if m, ok := one.(tool.Memory); ok {
			m.Recall(slices.Values(memos))
		}
	}
	later.works("write", args{"path": "a", "content": "three\n"}, "Replaced")
	later.works("edit", args{"path": "new", "old_string": "new", "new_string": "old"}, "Edited")
	later.fails("write", args{"path": "b", "content": "x"}, "has changed since")
	later.fails("write", args{"path": "c", "content": "x"}, "was not read yet")
	for _, one := range later.local.Tools() { // a conversation that was cleared
		if m, ok := one.(tool.Memory); ok {
			m.Recall(slices.Values([]json.RawMessage(nil)))
		}
	}
	later.fails("edit", args{"path": "a", "old_string": "three", "new_string": "x"}, "was not read yet")
	if strings.Contains(d.get("a"), "x") {
		t.Error(d.get("a"))
	}
}

// A pattern for places outside finds nothing, which is not to be taken for there being nothing.
func TestPatternsThatLeadOut(t *testing.T) {
	d := newDesk(t, "a/x.go", "package x\n")
	for _, p := range []string{"/etc/*", "../*", "..", d.root + "x/*"} {
		d.fails("glob", args{"pattern": p}, "leads out of the workspace")
		d.fails("grep", args{"pattern": "package", "include": p}, "leads out of the workspace")
	}
	d.works("glob", args{"pattern": d.root + "/a/*"}, "a/x.go")
	d.works("glob", args{"pattern": "..*/**"}, "No file matches")
}

// Who is asked sees what a call would change and at which lines, and the question changes nothing.
func TestAQuestionHasThePatchOfACall(t *testing.T) {
	d := newDesk(t, "a.go", "package a\n\nfunc one() {}\n")
	preview := map[string]func(json.RawMessage) string{"edit": d.local.edit().Spec().Preview, "write": d.local.write().Spec().Preview}
	for _, c := range []struct {
		tool, path string
		args       args
		want       string
	}{
		{"edit", "a.go", args{"old_string": "one", "new_string": "two\x1b[2J"}, "--- a/a.go\n+++ b/a.go\n@@ -1,3 +1,3 @@\n package a\n \n-func one() {}\n+func two␛[2J() {}\n"},
		{"edit", "a.go", args{"edits": []args{{"old_string": "package a", "new_string": "package b"}, {"old_string": "one", "new_string": "1"}}}, "-package a\n+package b\n \n-func one() {}\n+func 1() {}\n"},
		{"edit", "a.go", args{"old_string": "three", "new_string": "3"}, tool.PatchWithoutPlaces + "-three\n+3\n"}, // it would be refused
		{"edit", "none", args{"edits": []args{{"old_string": "a\nb", "new_string": "b"}}}, tool.PatchWithoutPlaces + "-a\n-b\n+b\n"},
		{"edit", "../a.go", args{"old_string": "a", "new_string": "b"}, "-a\n+b\n"},
		{"edit", "a.go", args{"new_string": "b"}, ""},
		{"write", "a.go", args{"content": "package a\n\nfunc two() {}\n"}, "@@ -1,3 +1,3 @@\n package a\n \n-func one() {}\n+func two() {}\n"},
		{"write", "new/deep.txt", args{"content": "hello\n"}, "@@ -0,0 +1 @@\n+hello\n"},
		{"write", "a.go", args{"content": strings.Repeat("too long to be compared\n", 9000)}, tool.PatchWithoutPlaces + "+too"},
	} {
		c.args["path"] = c.path
		call := testkit.Must(json.Marshal(c.args))(t)
		got := preview[c.tool](call)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %q, not %q", c.tool, call, got, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(d.root, "new")); err == nil {
		t.Error("a question made a folder")
	}
}
