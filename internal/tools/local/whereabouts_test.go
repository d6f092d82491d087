//go:build linux

package local

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

func TestTheFolderIsKept(t *testing.T) {
	d := newDesk(t, "sub/in/file", "x\n", "top", "")
	var memos []json.RawMessage
	for _, c := range []struct {
		command, want, memo string
		failed              bool
	}{
		{"cd sub; echo moved", "moved\n[the next command runs in sub]", `{"dir":"sub"}`, false},
		{"pwd", d.root + "/sub\n", "", false},
		{"cd in && cat file && exit 3", "x\n[exit code 3]\n[the next command runs in sub/in]", `{"dir":"sub/in"}`, true},
		{"(cd ..; pwd); pwd", d.root + "/sub\n" + d.root + "/sub/in\n", "", false},
		{"exec >quiet; cd ..; echo hidden", "[the next command runs in sub]", `{"dir":"sub"}`, false},
		{"cat in/quiet", "hidden\n", "", false},
		{"cd " + d.outside, "[the next command runs in the workspace again: " + d.outside + " is not in it]", `{"dir":"."}`, false},
		{"pwd; cd sub/in", d.root + "\n[the next command runs in sub/in]", `{"dir":"sub/in"}`, false},
		{"trap 'echo own' EXIT; cd ..", "own\n", "", false}, // its own trap: nobody says where it ended
		{"cd nowhere", "bash: line 1: cd: nowhere: No such file or directory\n[exit code 1]", "", true},
	} {
		got := d.call("bash", args{"command": c.command})
		if got.Text != c.want || got.Memo != c.memo || got.IsError != c.failed {
			t.Errorf("%s: %+v, want %q %s", c.command, got, c.want, c.memo)
		}
		if got.Memo != "" {
			memos = append(memos, json.RawMessage(got.Memo))
		}
	}
	// However long a line is, where it would run is not cut off.
	long, _ := json.Marshal(map[string]any{"command": strings.Repeat("make ", 100), "background": true})
	if line := d.local.bash().Spec().Summary(long); !strings.HasSuffix(line, "… (in sub/in, in the background)") || utf8.RuneCountInString(line) != 200 {
		t.Errorf("a long line: %q", line)
	}
	if where := d.local.bash().Spec().Where(long); where != "in sub/in, in the background" {
		t.Errorf("where: %q", where)
	}
	if line := d.local.bash().Spec().Summary(json.RawMessage(`{"command":"make"}`)); line != "make (in sub/in)" {
		t.Error(line)
	}
	d.works("read", args{"path": "sub/in/file"}, "x")

	later := &desk{T: t, root: d.root, outside: d.outside}
	later.local = testkit.Must(New(d.local.o))(t)
	for _, one := range later.local.Tools() {
		if m, ok := one.(tool.Memory); ok {
			m.Recall(slices.Values(memos))
		}
	}
	later.works("bash", args{"command": "pwd"}, d.root+"/sub/in\n")
	testkit.OK(t, os.RemoveAll(filepath.Join(d.root, "sub")))
	if got := later.works("bash", args{"command": "pwd"}, d.root); got.Text != d.root+"\n" {
		t.Errorf("%q", got.Text)
	}
}

// Whatever the pieces in which output comes, the mark is found and nothing else is lost.
func FuzzTracker(f *testing.F) {
	f.Add([]byte("some \x01 output\x01"), []byte("/a"), uint8(1), true)
	f.Fuzz(func(t *testing.T, before, dir []byte, step uint8, marked bool) {
		_, tr := trackFolder("x")
		var out bytes.Buffer
		tr.next = &out
		all := bytes.Clone(before)
		if marked {
			all = append(append(all, tr.mark...), dir...)
		}
		for len(all) > 0 {
			n := min(len(all), int(step)+1)
			tr.Write(all[:n])
			all = all[n:]
		}
		got := tr.end()
		if !bytes.Equal(out.Bytes(), before) || marked && got != string(dir) || !marked && got != "" {
			t.Errorf("%q %q, want %q %q", out.Bytes(), got, before, dir)
		}
	})
}
