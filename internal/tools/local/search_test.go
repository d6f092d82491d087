package local

import (
	"strings"
	"testing"
	"time"
)

func TestSearchesPassOverWhatIsIgnored(t *testing.T) {
	d := newDesk(t, ".gitignore", "node_modules\n*.log\n", ".ignore", "vendored/\n", "node_modules/a/index.js", "needle", "src/node_modules/b.js", "needle",
		"x.log", "needle", "vendored/v.go", "needle", "src/a.go", "needle\n", "bin", "needle\x00")
	for _, c := range []struct {
		name string
		a    args
		want string
	}{
		{"grep", args{"pattern": "needle"}, "src/a.go\n1: needle"},
		{"glob", args{"pattern": "**/*.{js,log,go}"}, "src/a.go"},
		// What is named is searched.
		{"grep", args{"pattern": "needle", "path": "node_modules"}, "node_modules/a/index.js\n1: needle"},
		{"grep", args{"pattern": "needle", "path": "src/node_modules"}, "src/node_modules/b.js\n1: needle"},
		{"grep", args{"pattern": "needle", "path": "x.log"}, "x.log\n1: needle"},
		{"grep", args{"pattern": "needle", "path": "bin"}, "No line fits (0 files searched)."},
		{"grep", args{"pattern": "nowhere"}, "No line fits (3 files searched; ignored ones are not: name one, or its folder, as path)."},
		{"glob", args{"pattern": "*.nothing"}, "No file fits (4 looked at, ignored ones not; name an ignored folder as path to look into it)."},
	} {
		if got := d.works(c.name, c.a, c.want); got.Text != c.want {
			t.Errorf("%s %v: %q, want %q", c.name, c.a, got.Text, c.want)
		}
	}
}

func TestWhatWasChangedLastComesFirst(t *testing.T) {
	d := newDesk(t, "a", "x\n", "b", "x\n", "c", "x\n", "d/e", "x\n")
	d.age("c", time.Minute)
	d.age("d/e", time.Second)
	for mode, want := range map[string]string{"files": "d/e\nc\na\nb", "count": "d/e: 1\nc: 1\na: 1\nb: 1\n[4 lines in 4 files]", "lines": "d/e\n1: x\nc\n1: x\na\n1: x\nb\n1: x"} {
		if got := d.works("grep", args{"pattern": "x", "mode": mode}, ""); got.Text != want {
			t.Errorf("%s: %q, want %q", mode, got.Text, want)
		}
	}
	if got := d.works("glob", args{"pattern": "**"}, ""); got.Text != "d/e\nc\na\nb" {
		t.Errorf("%q", got.Text)
	}
}

func TestGrepShowsWhatIsAround(t *testing.T) {
	d := newDesk(t, "a.go", "1\n2\nhit 3\n4\n5\n6\n7\nhit 8\r\nhit 9\n", "b_test.go", "hit\n", "c.md", "one\ntwo {\n  three\n}\n")
	for _, c := range []struct {
		a    args
		want string
	}{
		{args{"pattern": "hit", "context": 1, "exclude": "*_test.go"}, "a.go\n2- 2\n3: hit 3\n4- 4\n--\n7- 7\n8: hit 8\n9: hit 9"},
		{args{"pattern": "hit", "include": "!*_test.go"}, "a.go\n3: hit 3\n8: hit 8\n9: hit 9"},
		{args{"pattern": "hit$", "include": "*_test.go,*.md"}, "b_test.go\n1: hit"},
		{args{"pattern": `two \{.*\}`, "multiline": true}, "c.md\n2: two {\n3:   three\n4: }"},
		{args{"pattern": `two \{\n\s+three`}, "c.md\n2: two {\n3:   three"},
		{args{"pattern": `two.*three`}, "No line fits (3 files searched)."},
		{args{"pattern": `two\|three`}, `No line fits (3 files searched). In RE2 \| is a plain |.`},
		{args{"pattern": `^$`}, "No line fits (3 files searched)."},
		{args{"pattern": `t[^\n]*o`}, "c.md\n2: two {"},
	} {
		if got := d.works("grep", c.a, c.want); got.Text != c.want {
			t.Errorf("%v: %q, want %q", c.a, got.Text, c.want)
		}
	}
	d.fails("grep", args{"pattern": "a(?=b)"}, "no look-around")
	d.fails("read", args{"path": "c.mdd"}, "There is no c.mdd. Did you mean c.md?")
}

// What a matcher knows beforehand never hides a line.
func FuzzRequired(f *testing.F) {
	for _, p := range []string{"abc", "a+bc*", "(ab|ac)d", "x{2,3}yz", "(?i)ab", "a|", `\babc\b`, "a.c", "(abc)?d", "[a]bc"} {
		f.Add(p, "abc\nxxyz\nabd d\n")
	}
	f.Fuzz(func(t *testing.T, pattern, body string) {
		m, err := newMatcher(pattern, false, false)
		if err != nil || m.multi || len(m.must) == 0 {
			return
		}
		bare := *m
		bare.must = nil
		var with, without []string
		for from, to := range m.lines([]byte(body)) {
			with = append(with, body[from:to])
		}
		for from, to := range bare.lines([]byte(body)) {
			without = append(without, body[from:to])
		}
		if strings.Join(with, "\n") != strings.Join(without, "\n") {
			t.Errorf("%q (needs %q) in %q: %q, without %q", pattern, m.must, body, with, without)
		}
	})
}
