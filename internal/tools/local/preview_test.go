package local

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
		{"edit", "a.go", args{"old_string": "three", "new_string": "3"}, ""}, // it would be refused
		{"edit", "none", args{"old_string": "a", "new_string": "b"}, ""},
		{"edit", "../a.go", args{"old_string": "a", "new_string": "b"}, ""},
		{"write", "a.go", args{"content": "package a\n\nfunc two() {}\n"}, "@@ -1,3 +1,3 @@\n package a\n \n-func one() {}\n+func two() {}\n"},
		{"write", "new/deep.txt", args{"content": "hello\n"}, "@@ -0,0 +1 @@\n+hello\n"},
		{"write", "a.go", args{"content": strings.Repeat("too long to be seen as a whole\n", 9000)}, ""},
	} {
		c.args["path"] = c.path
		call, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		got := preview[c.tool](call)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %q, not %q", c.tool, call, got, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(d.root, "new")); err == nil {
		t.Error("a question made a folder")
	}
}
