package markdown

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"ramet/internal/base/text"
	"ramet/internal/testkit"
)

var ourCode = regexp.MustCompile("\x1b\\[[0-9;]*m")

// wrong returns what is wrong with lines, whatever they show.
func wrong(lines []string, width int) error {
	for _, l := range lines {
		plain := ourCode.ReplaceAllString(l, "")
		switch {
		case text.Safe(plain) != plain || strings.ContainsAny(plain, "\n\t"):
			return fmt.Errorf("%q would drive a terminal", l)
		case openStyle("", l) != "":
			return fmt.Errorf("%q leaves a style on", l)
		case ansi.StringWidth(l) > width:
			return fmt.Errorf("%q has %d cells, over %d", l, ansi.StringWidth(l), width)
		case !utf8.ValidString(l):
			return fmt.Errorf("%q is not UTF-8", l)
		}
	}
	return nil
}

// document draws Markdown out of lines that mean something.
func document(t *rapid.T) string {
	piece := rapid.SampledFrom([]string{
		"word ", "another ", "日本語", "👩‍👩‍👧", "e\u0301", "**bold** ", "*it* ", "`code` ", "[l](http://x) ", "~~no~~ ", "| ", "\\| ", "<b> ", "&amp; ",
		"&#27; ", "\x1b[31m", "\u202e", "http://a/b_c ", "**", "*", "`", "[", "](", "~", "verylongwordthatgoesonandonandonandon", "\t", "שלום ", "\ufe0f", "\r",
	})
	start := rapid.SampledFrom([]string{
		"", "", "", "# ", "- ", "  - ", "    ", "1. ", "2) ", "> ", ">> ", "```go", "```", "~~~", "---", "===", "| a | b |", "|---|---|", "|:-:|", "- [ ] ",
		"\t", "   ", "* * *", "10. ", "   - ", "+ + + ",
	})
	end := rapid.SampledFrom([]string{"\n", "\n", "\n\n", "\r\n", "  \n", "\\\n"})
	var b strings.Builder
	for range rapid.IntRange(0, 30).Draw(t, "lines") {
		b.WriteString(start.Draw(t, "start"))
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			b.WriteString(piece.Draw(t, "piece"))
		}
		b.WriteString(end.Draw(t, "end"))
	}
	return b.String()
}

var themes = []Theme{Dark(), Light(), Basic(), Mono(), {}}

func TestNoLineIsTooWideAndNothingDrivesTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(2, 100).Draw(t, "width")
		src := document(t)
		testkit.OK(t, wrong(Render(src, width, rapid.SampledFrom(themes).Draw(t, "theme")), width))
		testkit.OK(t, wrong(Render(asCode(src, "go"), width, Dark()), width))
	})
}

// All letters of the words arrive, in order, whatever the markup around them.
func TestNoWordIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(8, 100).Draw(t, "width")
		word := rapid.StringMatching(`[a-z日本é]{1,20}`)
		around := rapid.SampledFrom([]string{"%s", "**%s**", "*%s*", "`%s`", "~~%s~~", "***%s***"})
		start := rapid.SampledFrom([]string{"", "\n\n# ", "\n- ", "\n  - ", "\n> ", "\n\n", "\n1. ", "  \n", "\n- [x] ", "\n\n```C\n```\n\n"})
		var src, want strings.Builder
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			w := word.Draw(t, "word")
			fmt.Fprintf(&src, "%s"+around.Draw(t, "around")+" ", start.Draw(t, "start"), w)
			want.WriteString(w)
		}
		var got strings.Builder
		for _, l := range Render(src.String(), width, Dark()) {
			for _, r := range ourCode.ReplaceAllString(l, "") {
				if r >= 'a' && r <= 'z' || r == '日' || r == '本' || r == 'é' {
					got.WriteRune(r)
				}
			}
		}
		if g := strings.ReplaceAll(got.String(), "x", ""); g != strings.ReplaceAll(want.String(), "x", "") {
			t.Fatalf("%q became %q", src.String(), g)
		}
	})
}

func FuzzRender(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.md")
	for _, file := range files {
		src := testkit.Must(os.ReadFile(file))(f)
		f.Add(string(src), 40, 7)
	}
	f.Add("|a|b|\n|-|-|\n|1|&#x1b;[2J|", 3, 1)
	f.Fuzz(func(t *testing.T, src string, width, n int) {
		width = 2 + abs(width)%120
		testkit.OK(t, wrong(Render(src, width, themes[abs(n)%len(themes)]), width))
	})
}

func FuzzCode(f *testing.F) {
	names := []string{"go", "python", "ts", "rust", "sh", "json", "yaml", "c", "sql", "diff", ""}
	f.Add("\"open\\", 0, 10)
	f.Add("'a /* \u0301 `x", 3, 2)
	f.Fuzz(func(t *testing.T, src string, language, width int) {
		width = 2 + abs(width)%120
		got := Render(asCode(src, names[abs(language)%len(names)]), width, Dark())
		testkit.OK(t, wrong(got, width))
	})
}

// asCode is a text as code of a language.
func asCode(src, language string) string {
	return strings.Repeat("`", 99) + language + "\n" + src + "\n" + strings.Repeat("`", 99) + "\n"
}

func abs(n int) int { return max(n, -(n + 1)) }
