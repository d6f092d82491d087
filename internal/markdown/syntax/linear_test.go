package syntax

import (
	"fmt"
	"strings"
	"testing"
)

// hostile are texts that make a careless reader quadratic, or worse.
func hostile(n int) map[string]string {
	many := func(s string) string { return strings.Repeat(s, n/len(s)) }
	out := map[string]string{}
	for _, s := range []string{
		"[", "]", "![", "[a](", "![a](<", "[a](b \"", "[a](b '", "[a](b (", "[a][", "[a] ", "[^a", "[^a] ", "*", "*a ", "a**b*", "_ a_ ", "**a_", "~a", "~~a ", "*a_ b~",
		"`", "` `` ", "``a`", "<", "<a ", "<a b=\"", "<a b='c\" ", "<!--", "<?", "<![CDATA[", "<!A", "<http://a", "<a@", "</a", "&", "&amp", "\\", "\\\n", "(", "((", ")", "_a", "_a@",
		"(http://a.b/(", "_www.", "a@b.", "x", "a ", "a\n", "a  \n", "\n", " \n", "\t", "> ", ">", "- ", "- a\n", "1. ", "-\n", "- a\n\n", "> a\n", "# ", "#\n", "```\n", "    a\n\n", "=\n", "-",
		"|a", "|a\n", "|-", ":-", "|\n|-", "|a|\n|-|\n=\n", "|a|\n|-|\n-\n", "2. a\n", "[a]: b\n", "[a]: b\n'", "[a]: b 'c\n", "[^a]: b\n", "[^a]:\n\n    ", "<div>\n", "<!-- a\n", "<pre>\n",
		"<b>\n", "!", "\x00", "\xff", "a\r\n",
	} {
		out[s] = many(s)
	}
	half := strings.Repeat
	out["items, then empty lines"] = half("- ", n/4) + half("\n", n/2)
	out["quotes, then lines"] = half(">", n/2) + half("a\n", n/4)
	out["brackets, then ends"] = half("[", n/2) + half("]", n/2)
	out["brackets, then links"] = half("[", n/2) + half("[a](b)", n/12)
	out["images, then links"] = half("![", n/4) + half("[a](b)", n/12)
	out["openers, then closers"] = half("*a ", n/6) + half(" b_", n/6)
	out["columns, then rows"] = half("|a", n/6) + "\n" + half("|-", n/6) + "\n" + half("a\n", n/6)
	out["ticks, then paragraphs"] = half("`", n/2) + "\n\n" + half("`a`\n\n", n/10)
	out["definitions and labels"] = half("[a]: b\n", n/14) + "\n" + half("[a]", n/6)
	out["indented items"] = nested(n)
	out["runs"] = runs(n, "`")
	out["runs of stars"] = runs(n, "*")
	return out
}

// runs are runs of all lengths.
func runs(n int, sign string) string {
	var b strings.Builder
	for i := 1; b.Len() < n; i++ {
		b.WriteString(strings.Repeat(sign, i) + " a")
	}
	return b.String()
}

func nested(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.Repeat("  ", i%150) + "- a\n")
	}
	return b.String()
}

// What is looked at, and what is made of it, grows as the text does.
func TestHostileTextsAreReadInLinearTime(t *testing.T) {
	const size = 4 << 10
	large := hostile(8 * size)
	for name, text := range hostile(size) {
		small, big := costOf(text), costOf(large[name])
		if big.looked > 10*small.looked+size || big.nodes > 10*small.nodes+size {
			t.Errorf("%q: %+v for %d bytes, %+v for %d", name, small, len(text), big, len(large[name]))
		}
		if most := 300 * len(text); small.looked > most {
			t.Errorf("%q: %d bytes were looked at %d times", name, len(text), small.looked)
		}
		if testing.Verbose() && small.looked > 20*len(text) {
			t.Log(fmt.Sprintf("%q", name), small, big)
		}
	}
}

type cost struct{ looked, nodes int }

func costOf(text string) cost {
	root, looked := read([]byte(text), GitHub)
	c := cost{looked: looked}
	for n := root; n != nil; n = n.After(root, true) {
		c.nodes++
	}
	return c
}

// Whatever the bytes, the tree is one, and its nodes stand in the text.
func FuzzRead(f *testing.F) {
	for _, text := range hostile(200) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		for _, with := range []Features{0, GitHub, Strikes | Plain} {
			root := Read(source, with)
			for n := root; n != nil; n = n.After(root, true) {
				if n.From < 0 || n.From > n.To || n.To > len(source) {
					t.Fatalf("%s stands at %v of %d bytes", n.Kind, n.Span, len(source))
				}
				for _, l := range n.Lines {
					if l.From < 0 || l.From > l.To || l.To > len(source) {
						t.Fatalf("a line of %s stands at %v of %d bytes", n.Kind, l, len(source))
					}
				}
				if n.First != nil && (n.First.Prev != nil || n.Last.Next != nil || n.Last.Parent != n) || n.Next != nil && n.Next.Prev != n {
					t.Fatalf("%s is not well in the tree", n.Kind)
				}
			}
		}
	})
}
