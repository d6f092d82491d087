package markdown

import (
	"flag"
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

var update = flag.Bool("update", false, "write the golden files")

// A golden file shows each line with its codes readable and its width.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		src := testkit.Must(os.ReadFile(file))(t)
		for _, c := range []struct {
			name  string
			width int
			theme Theme
		}{{"40", 40, Dark()}, {"80", 80, Dark()}, {"120", 120, Dark()}, {"basic80", 80, Basic()}, {"mono80", 80, Mono()}, {"none80", 80, Theme{}}} {
			var b strings.Builder
			for _, line := range Render(string(src), c.width, c.theme) {
				fmt.Fprintf(&b, "%3d %s\n", ansi.StringWidth(line), strings.NewReplacer("\x1b[m", "⟨⟩", "\x1b[", "⟨").Replace(line))
			}
			golden := strings.TrimSuffix(file, ".md") + "." + c.name + ".golden"
			if *update {
				testkit.OK(t, os.WriteFile(golden, []byte(b.String()), 0o644))
				continue
			}
			want := testkit.Must(os.ReadFile(golden))(t)
			if b.String() != string(want) {
				t.Errorf("%s differs; if it should, run go test with -update\n%s", golden, b.String())
			}
		}
	}
}

func TestARemovedCommentIsNoFileName(t *testing.T) {
	theme := Theme{Added: "32", Removed: "31", Comment: "2", Hunk: "36"}
	var got []string
	for _, l := range Render("```diff\n--- a\n+++ b\n@@ -1,2 +1 @@ f\n--- old comment\n kept\n\\ No newline at end of file\n--- c\n+++ d\n@@ -1 +1 @@\n-x\n+++ y\n```\n", 40, theme) {
		code, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(l, "  "), "\x1b["), "m")
		got = append(got, code)
	}
	if want := "╶ diff 2 2 36 31  kept \\ No newline at end of file 2 2 36 31 32"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", strings.Join(got, " "), want)
	}
}

// hostile returns texts that make a careless reader quadratic, or worse.
func hostile(n int) map[string]string {
	return map[string]string{
		"brackets":     strings.Repeat("[", n),
		"links":        strings.Repeat("[a](", n/4),
		"images":       strings.Repeat("![a](<", n/6),
		"stars":        strings.Repeat("*a ", n/3),
		"stars both":   strings.Repeat("a**b*", n/5),
		"underscores":  strings.Repeat("_ a_ ", n/5),
		"backticks":    ticks(n),
		"tildes":       strings.Repeat("~a", n/2),
		"quotes":       strings.Repeat(">", n),
		"lists":        strings.Repeat("- ", n/2),
		"one line":     strings.Repeat("x", n),
		"words":        strings.Repeat("word ", n/5),
		"marks":        "a" + strings.Repeat("\u0301", n/2),
		"no width":     strings.Repeat("\u200b", n/3),
		"joiners":      strings.Repeat("👩\u200d", n/7),
		"table":        "|a|b|\n|-|-|\n" + strings.Repeat("|x|y|\n", n/6),
		"wide table":   strings.Repeat("|a", n/4) + "|\n" + strings.Repeat("|-", n/4) + "|\n",
		"fence":        "```go\n" + strings.Repeat("x := 1 // y\n", n/12),
		"open comment": "```go\n/*" + strings.Repeat("* ", n/2),
		"references":   strings.Repeat("&amp", n/4),
		"lines":        strings.Repeat("a\n", n/2),
		"items":        strings.Repeat("- a\n", n/4),
		"empty lines":  strings.Repeat("\n", n),
		"backslashes":  strings.Repeat(`\`, n),
		"autolinks":    strings.Repeat("<http://a", n/9),
		"https":        strings.Repeat("http", n/4),
		"nested items": nested(n),
	}
}

func ticks(n int) string {
	var b strings.Builder
	for i := 1; b.Len() < n; i++ {
		b.WriteString(strings.Repeat("`", i%200+1) + " ")
	}
	return b.String()
}

func nested(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.Repeat("  ", i%100) + "- a\n")
	}
	return b.String()
}

// Rendering any of them ends soon: what the parser would need long for is shown as it is written.
func TestHostileTextsAreRendered(t *testing.T) {
	for name, src := range hostile(32 << 10) {
		for _, text := range []string{src, asCode(strings.ReplaceAll(src, "\n", " "), "go")} {
			if err := wrong(Render(text, 80, Dark()), 80); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
