package prose

import (
	"strings"
	"testing"
)

func page(blocks []Block) string {
	var out []string
	for _, b := range blocks {
		out = append(out, b.String())
	}
	return strings.Join(out, "\n\n")
}

func TestSourcesBecomeMarkdown(t *testing.T) {
	for _, c := range []struct{ name, language, in, want string }{
		{"a doc comment", "go", "Parse reads <T>. See [Reader] and https://x.org/a.\n\nIt takes *args and []byte:\n\n\tx := Parse(s)\n\n# Use\n\n  - one\n  - two `a|b`\n",
			"Parse reads &lt;T&gt;. See `Reader` and <https://x.org/a>.\n\nIt takes \\*args and []byte:\n\n```go\nx := Parse(s)\n```\n\n### Use\n\n- one\n- two `a|b`"},
		{"a list without an indent", "go", "Options:\n- a thing\n- another\n", "Options:\n\n- a thing\n- another"},
		{"fences in a doc comment", "go", "Like:\n```sh\nrun # x\n```\nDone.", "Like:\n\n```sh\nrun # x\n```\n\nDone."},
		{"what its authors wrote to themselves", "go", "It works.\n\nTODO(x): make it fast.", "It works."},
		{"Sphinx", "python", "Read it.\n\n:param str path: where ``it`` is\n:returns: the :class:`~a.b.Text`\n:raises ValueError: if not", "Read it.\n\n- `path` (`str`): where `it` is\n- **Returns** the `Text`\n- **Raises** `ValueError`: if not"},
		{"Google", "python", "Read it.\n\nArgs:\n    path (str): where it is,\n        really\n    *more: others\n\nReturns:\n    The text.\n", "Read it.\n\n**Parameters:**\n\n- `path` (`str`): where it is, really\n- `*more`: others\n\n**Returns:** The text."},
		{"NumPy", "python", "Read it.\n\nParameters\n----------\npath : str\n    Where.\n\nReturns\n-------\nstr\n    The text.", "Read it.\n\n**Parameters:**\n\n- `path` (`str`): Where.\n\n**Returns:** str The text."},
		{"doctest and literal blocks", "python", "Use it::\n\n    x = 1\n\n>>> f(1)\n2\n\n.. note:: Mind `x <https://a.b>`_.", "Use it:\n\n```python\nx = 1\n```\n\n```pycon\n>>> f(1)\n2\n```\n\n**Note:** Mind [x](https://a.b)."},
		{"JSDoc", "javascript", "Adds {@link B}.\n@param {number} [a=1] - the first\n@returns {number} the sum\n@example\nadd(1)\n@private", "Adds `B`.\n\n**Parameters:**\n\n- `a` (`number`): the first (default `1`)\n\n**Returns** `number`: the sum\n\n```javascript\nadd(1)\n```"},
		{"rustdoc", "rust", "Makes [`Vec`] of [it](crate::it).\n\n# Examples\n\n```\n# hidden\nlet x = 1;\n```", "Makes `Vec` of it.\n\n### Examples\n\n```rust\nlet x = 1;\n```"},
		{"a README", "", "<p align=center><img src=x></p>\n\n![badge](https://b) Hello <b>you</b> [here](docs/a.md), [there](https://a.b) and [ref][r].\n\n[r]: https://r.s\n<!-- gone -->\n\n| a | b |\n|---|---|\n| `x|y` |\n\n# Big\n\n### Deep\n\n* one\n  * in\n* two\n\n> # quoted\n\nSupported by:\n",
			"Hello you here, [there](https://a.b) and [ref](https://r.s).\n\n| a | b |\n| --- | --- |\n| `x\\|y` |  |\n\n### Big\n\n#### Deep\n\n- one\n  - in\n- two\n\n> quoted"},
		{"links that do harm", "", "[a](javascript:alert(1)) <https://u:p@h/> http://ip:port [b](//x) <script>x</script>", "a) `https://u:p@h/` `http://ip:port` b x"},
		{"a fence in a fence", "", "````md\n```\nx\n```\n````", "````md\n```\nx\n```\n````"},
		{"a fence that is not closed", "", "a\n```go\nx", "a\n\n```go\nx\n```"},
		{"a marker", "", "Said.<!-- claim: x --> <!-- ramet:end overview -->", "Said."},
	} {
		if got := page(Blocks(c.in, c.language, 3)); got != c.want {
			t.Errorf("%s:\n%s\n--- want\n%s", c.name, got, c.want)
		}
	}
}

func TestFirstSentence(t *testing.T) {
	for in, want := range map[string]string{
		"One. Two.": "One.", "E.g. this, i.e. that. Next.": "E.g. this, i.e. that.", "No end": "No end", "Version 1.2 is out. Yes.": "Version 1.2 is out.", "Is (a. b) it? No.": "Is (a. b) it?",
	} {
		if got := First(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// Whatever the text, what comes out is closed in itself: no comment, no tag, fences
// in pairs, headings at the level asked for and below.
func FuzzBlocks(f *testing.F) {
	for _, s := range []string{"", "a\n\n\tb", "Args:\n    x: y", ":param a: b", "@param {a} b", "```\n# x", "| a |\n|-|\n|`|", "[a][b]\n[b]: c", "<!--", "``x` <b>", "1. a\n2. b", "> # a", "a\n---\nb\n===", ".. note::\n\n  x", "Parameters\n---\nx : y", "\\[", "<https://a b>", "`a <b>`_", "- # x\n- ```\n", "\x01!--"} {
		for _, l := range []string{"go", "python", "typescript", "rust", ""} {
			f.Add(s, l)
		}
	}
	f.Fuzz(func(t *testing.T, text, language string) {
		for _, b := range Blocks(text, language, 3) {
			s := b.String()
			if strings.TrimSpace(s) == "" || b.Kind == Heading && (b.Level < 3 || b.Level > 6 || strings.Contains(s, "\n")) {
				t.Fatalf("%q: %+v", text, b)
			}
			if b.Kind == Code {
				first, _, _ := strings.Cut(s, "\n")
				mark := strings.TrimRight(first, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+#_-")
				if len(mark) < 3 || !strings.HasSuffix(s, "\n"+mark) || strings.Count(s, mark) != 2 {
					t.Fatalf("%q: %q", text, s)
				}
				continue
			}
			if !inCode(s, "<!--") || !inCode(s, "<script") || strings.Contains(s, "\n\n\n") {
				t.Fatalf("%q: %q", text, s)
			}
		}
	})
}

// inCode says whether a text stands in backticks wherever it stands.
func inCode(s, what string) bool {
	found := false
	outsideCode(s, func(s string) string {
		found = found || strings.Contains(s, what)
		return s
	})
	return !found
}
