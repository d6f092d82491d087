package text

import (
	"strings"
	"testing"
)

func TestMentionsAreFoundOutsideOfCode(t *testing.T) {
	for in, want := range map[string]string{
		"see @docs/a.md and @b.md.":               "docs/a.md b.md",
		"- @README.md\n* @x/y\n(@z.txt)":          "README.md x/y z.txt",
		"mail me@example.com, a@b":                "",
		"`@code` and ``@a ` b`` @c":               "c",
		"```\n@in/fence\n```\n@after":             "after",
		"~~~~ go\n@in\n```\n~~~\n@in\n~~~~\n@out": "out",
		"@~/mine.md @/abs.md @":                   "~/mine.md /abs.md",
		"an open ` stays @open":                   "open",
		"**@bold.md**":                            "bold.md",
		"":                                        "",
	} {
		var got []string
		for _, m := range Mentions(in) {
			got = append(got, m.Path)
			if in[m.Start:m.End] != "@"+m.Path {
				t.Errorf("%q: %q is at %d to %d", in, m.Path, m.Start, m.End)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q", in, s, want)
		}
	}
}

func FuzzMentionsStandWhereTheySay(f *testing.F) {
	f.Add("a @b `c` @d\n```\n@e")
	f.Fuzz(func(t *testing.T, s string) {
		last := 0
		for _, m := range Mentions(s) {
			if m.Start < last || m.End > len(s) || s[m.Start:m.End] != "@"+m.Path || m.Path == "" {
				t.Fatalf("%q: %+v", s, m)
			}
			last = m.End
		}
	})
}
