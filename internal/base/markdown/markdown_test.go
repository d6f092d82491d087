package markdown

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

func TestSlugsAreGitHubs(t *testing.T) {
	page := testkit.Must(Parse([]byte(`# Hello, World!
## a_b-c d
## ` + "`code()` here" + `
## Foo &amp; Bar
## Twice
## Twice
## twice
## Привет 日本
## 🚀 Go
## [Link](x) **bold** \*
## v1.2.3
Two
lines
-----
> ## Quoted

- ## Listed
##
`)))(t)
	var got []string
	for _, h := range page.Headings() {
		got = append(got, fmt.Sprintf("%d:%s", h.Line, h.Slug))
	}
	want := []string{"1:hello-world", "2:a_b-c-d", "3:code-here", "4:foo--bar", "5:twice", "6:twice-1", "7:twice-2", "8:привет-日本", "9:-go", "10:link-bold-", "11:v123", "12:twolines", "15:quoted", "17:listed", "18:"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestLinesOfWhatIsOnAPage(t *testing.T) {
	page := testkit.Must(Parse([]byte("---\ntitle: x\n---\n\n# T\n\nA\n[x](y) b\n![i](j) <https://z.y>\n\n| a | b |\n|---|---|\n| c | [d](e) |\n\n[r]\n\n[r]: f\n\n<img src=\"g\">\n")))(t)
	var got []string
	for _, l := range page.Links() {
		got = append(got, fmt.Sprintf("%d:%s", l.Line, l.To))
	}
	if want := []string{"8:y", "9:j", "9:https://z.y", "13:e", "15:f", "19:g"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if page.Front != len("---\ntitle: x\n---\n") || page.Lines() != 19 || string(page.Text(5)) != "# T" || page.Text(0) != nil || page.Text(20) != nil {
		t.Error(page.Front, page.Lines())
	}
}

func TestFrontMatter(t *testing.T) {
	for text, want := range map[string]int{
		"---\na: b\n---\n# T\n":         13,
		"---\r\na: b\r\n---\r\n":        16,
		"---\na: b\n...\n":              13,
		"---\n# note\nx:\n  - y\n---\n": 24,
		"---\n\nText.\n\n---\n":         0,
		"---\nSome: text here *x*\n":    0,
		"---\n---\n":                    0,
		"\n---\na: b\n---\n":            0,
		"---\na: b\n":                   0,
		"":                              0,
	} {
		if got := frontMatter([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestPagesThatCostTooMuchAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"size": strings.Repeat("x", MaxSize+1), "depth": strings.Repeat(">", maxDepth+1), "marks": strings.Repeat("[", maxMarks+1),
		"many paragraphs":  strings.Repeat(strings.Repeat("_a*", maxMarks/4)+"\n\n", 20),
		"columns and rows": strings.Repeat("|a", 1000) + "\n" + strings.Repeat("|-", 1000) + "\n" + strings.Repeat("a\n", 1000),
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
	for name, text := range map[string]string{"rule": strings.Repeat("-", MaxSize), "paragraphs": strings.Repeat(strings.Repeat("*a*", 50)+"\n\n", 600)} {
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
