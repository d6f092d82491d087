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

	"ramet/internal/base/text"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

func FuzzPath(f *testing.F) {
	for _, p := range []string{"", ".", "a", "../x", "/etc/passwd", "a/../..", ".git", "a/.GIT/x", "link/x", "out", "a\x00", "a//b/./c", "~", `C:\x`, `..\x`, "new/er/est"} {
		f.Add(p)
	}
	top := testkit.Must(filepath.EvalSymlinks(f.TempDir()))(f)
	root := filepath.Join(top, "root")
	for _, dir := range []string{root + "/a/b", root + "/.git", top + "/outside"} {
		testkit.OK(f, os.MkdirAll(dir, 0o755))
	}
	for name, target := range map[string]string{"link": "a", "out": "../outside", "a/up": "..", "g": ".git", "abs": top + "/outside"} {
		testkit.OK(f, os.Symlink(target, filepath.Join(root, name)))
	}
	l := testkit.Must(New(Options{Root: root}))(f)
	f.Fuzz(func(t *testing.T, p string) {
		for _, a := range []aim{toRead, toName, toWrite} {
			s, err := l.find(p, a)
			if err != nil {
				continue
			}
			defer s.close()
			if s.rel != "." && !filepath.IsLocal(filepath.FromSlash(s.rel)) && a != toName {
				t.Errorf("%q leads to %q", p, s.rel)
			}
			for part := range strings.SplitSeq(s.rel, "/") {
				if strings.EqualFold(part, ".git") && a != toName {
					t.Errorf("%q leads to %q", p, s.rel)
				}
			}
			if s.info == nil {
				continue
			}
			// The real path, by the system's own reckoning, is the one that we say.
			real, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(s.rel)))
			if want := filepath.Join(root, filepath.FromSlash(s.rel)); err != nil || real != want {
				t.Errorf("%q leads to %q, which is %q (%v)", p, want, real, err)
			}
		}
	})
}

func FuzzEdit(f *testing.F) {
	f.Add("one\ntwo\n", "one", "1", false)
	f.Add("\uFEFFa\r\nb\r\n", "a\nb", "c\n", true)
	f.Add("a\r\nb\n", "\n", "", true)
	f.Add("aaa", "aa", "a", true)
	f.Fuzz(func(t *testing.T, file, old, new string, all bool) {
		d := newDraft(file)
		err := d.apply(change{old, new, all})
		after, n := d.text(), d.places
		for _, s := range d.spots {
			if s.from < 0 || s.to > len(d.body) || s.from > s.to {
				t.Errorf("%v in %q", s, d.body)
			}
		}
		d.excerpt()
		if twice := newDraft(file); err == nil && twice.apply(change{old, "\x01" + new + "\x02", all}) == nil && twice.apply(change{"\x01", "", true}) == nil {
			for _, s := range twice.spots { // what was put in first is still marked
				if s.from < 0 || s.to > len(twice.body) || s.from > s.to {
					t.Errorf("%v in %q", s, twice.body)
				}
			}
			if !strings.Contains(file+old+new, "\x02") && len(twice.spots) > 0 {
				for i := range twice.body {
					if twice.body[i] == 2 && !slices.ContainsFunc(twice.spots, func(s span) bool { return s.from <= i && i < s.to }) {
						t.Errorf("%d of %q is not in %v", i, twice.body, twice.spots)
					}
				}
			}
		}
		if err != nil {
			if strings.Count(file, old) == 1 && old != new && old != "" && !strings.Contains(file, "\r\n") && !strings.HasPrefix(file, bom) {
				t.Errorf("%q in %q: %v", old, file, err)
			}
			return
		}
		if n < 1 || n > 1 && !all {
			t.Errorf("%d replaced", n)
		}
		if strings.HasPrefix(file, bom) != strings.HasPrefix(after, bom) && !strings.HasPrefix(new, bom) {
			t.Errorf("the mark of %q is not that of %q", file, after)
		}
		if strings.Contains(file, "\r\n") || strings.Contains(new, "\r\n") || strings.HasPrefix(file, bom) {
			return
		}
		if want := strings.ReplaceAll(file, old, new); after != want {
			t.Errorf("%q, want %q", after, want)
		}
	})
}

func FuzzEnds(f *testing.F) {
	f.Add([]byte("hello world, this is long"), uint8(3), uint8(4), uint8(5))
	f.Add([]byte("é\x1b[31mé\x1b]0;x\aé\r\n\r"), uint8(1), uint8(3), uint8(2))
	f.Add([]byte(""), uint8(0), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, all []byte, head, tail, step uint8) {
		e := newEnds(int(head), int(tail))
		for rest := all; len(rest) > 0; {
			k := min(int(step)+1, len(rest))
			if n, err := e.Write(rest[:k]); n != k || err != nil {
				t.Fatal(n, err)
			}
			rest = rest[k:]
		}
		got := e.String()
		if !utf8.ValidString(got) || text.Safe(got) != got || strings.ContainsRune(got, 0x1b) {
			t.Errorf("%q is not safe", got)
		}
		if len(all) <= int(head)+int(tail) {
			if want := plainOutput(string(all)); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			return
		}
		first, last, _ := e.Kept()
		if !bytes.Equal(first, all[:head]) || !bytes.Equal(last, all[len(all)-int(tail):]) || !strings.Contains(got, "bytes are left out here") {
			t.Errorf("%q %q of %q", first, last, all)
		}
	})
}

// FuzzArguments makes calls of every tool but bash with any arguments: what has the
// shape gets an answer, and nothing breaks.
func FuzzArguments(f *testing.F) {
	for _, a := range []string{`{}`, `{"path":"a"}`, `{"path":"a","offset":1e3,"limit":5.0}`, `{"pattern":"**"}`, `{"pattern":"(","path":"."}`, `{"path":"a","old_string":"x","new_string":""}`,
		`{"path":"a/b","content":""}`, `{"path":"a","offset":9007199254740991}`, `null`, `[`, `{"path":"\ud800"}`, `{"pattern":"[^","include":"{"}`} {
		f.Add(a)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := newDesk(t, "a", "x\n")
		for _, one := range d.local.Tools() {
			spec := one.Spec()
			if spec.Subject != nil {
				spec.Subject(json.RawMessage(text))
			}
			if s := spec.Summary(json.RawMessage(text)); strings.ContainsAny(s, "\n\x1b") {
				t.Errorf("summary of %s: %q", spec.Name, s)
			}
			if spec.Name == "bash" {
				continue
			}
			found, _, ok := d.local.Tools().Find(llm.Part{Name: spec.Name, Args: json.RawMessage(text)})
			if !ok {
				continue
			}
			a, err := one.Run(t.Context(), tool.Call{Args: found.Args, Grant: tool.Free, Output: func([]byte) {}})
			if err != nil || a.Text == "" {
				t.Errorf("%s %s: %+v %v", spec.Name, text, a, err)
			}
		}
		if got := d.get("../outside/secret"); got != "theirs" {
			t.Errorf("%s wrote outside: %q", text, got)
		}
	})
}
