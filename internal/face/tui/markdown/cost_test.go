package markdown

import (
	"os"
	"strings"
	"testing"
)

// hostile texts that make a careless reader quadratic, or worse.
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

// Rendering any of them is linear work: four times the text makes about four times the
// allocations. BenchmarkHostile limits the time.
func TestHostileTextsAreLinearWork(t *testing.T) {
	cost := func(n int) map[string]float64 {
		allocations := map[string]float64{}
		for name, src := range hostile(n) {
			code := asCode(strings.ReplaceAll(src, "\n", " "), "go")
			for _, text := range []string{src, code} {
				if err := wrong(Render(text, 80, Dark()), 80); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				allocations[name] += testing.AllocsPerRun(1, func() { Render(text, 80, Dark()) })
			}
		}
		return allocations
	}
	small, large := cost(8<<10), cost(32<<10)
	for name := range small {
		if large[name] > 6*small[name] {
			t.Errorf("%s: %.0f allocations for 8 KB, %.0f for 32 KB", name, small[name], large[name])
		}
	}
}

// What a delta costs does not grow with what was before it.
func TestADeltaCostsTheSameEverywhere(t *testing.T) {
	sample, err := os.ReadFile("testdata/answer.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, unit := range map[string]string{"prose": string(sample), "code": "x := 1 // y\n", "row": "| a | b |\n", "one line": "word ", "item": "- item\n"} {
		cost := func(before int) float64 {
			s := NewStream(80, Dark())
			switch name {
			case "code":
				s.Write("```go\n")
			case "row":
				s.Write("| a | b |\n|---|---|\n")
			}
			s.Write(strings.Repeat(unit, before/len(unit)))
			s.Lines()
			return testing.AllocsPerRun(200, func() {
				for i := 0; i < len(unit); i += 50 {
					s.Write(unit[i:min(i+50, len(unit))])
					s.Lines()
				}
			})
		}
		// Allocations are a measure that other work on the machine does not change.
		if small, large := cost(32<<10), cost(512<<10); large > 2*small+20 {
			t.Errorf("%s: %.0f allocations after 32 KB, %.0f after 512 KB", name, small, large)
		}
	}
}
