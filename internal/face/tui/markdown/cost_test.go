package markdown

import (
	"strings"
	"testing"
)

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
