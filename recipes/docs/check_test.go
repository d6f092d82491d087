package docs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"ramet/internal/testkit"
	"ramet/recipes/docs"
)

const readme = "# greet\n\nGreets people by name. See https://example.org/greet for more.\n\n## Install\n\n```sh\ngo install example.org/greet@v1.2.3\n```\n\nNeeds Go 1.22.\n"

var tree = fstest.MapFS{
	"README.md":         {Data: []byte(readme)},
	"greet.go":          {Data: []byte("// Package greet greets people.\npackage greet\n\n// Hello greets somebody by name.\nfunc Hello(name string) string { return \"Hello, \" + name }\n")},
	"main.go":           {Data: []byte("package main\n\nvar loud = flag.Bool(\"loud\", false, \"use capital letters; --loud\")\n")},
	"long.txt":          {Data: []byte(strings.Repeat("moon\n", 400))},
	"docs/index.md":     {Data: []byte("Theirs.\n<!-- ramet:begin overview -->\nzeppelin flights\n<!-- ramet:end overview -->\n")},
	"node_modules/x.js": {Data: []byte("hovercraft\n")},
	"more.md":           {Data: []byte("Look at _examples/ first.\n")},
	"logo.png":          {Data: []byte{0x89, 'P', 'N', 'G', 0}},
}

func link(to string) (string, bool) { return "Reference", to == "reference.md" }

func codes(t *testing.T, draft string) []string {
	t.Helper()
	r := testkit.Must(docs.OpenRepository(tree))(t)
	var out []string
	for _, f := range docs.CheckEvidence(docs.PinCites(draft, r), "greet", r, link) {
		out = append(out, f.Code)
		if f.Line < 1 || f.Message == "" {
			t.Errorf("%+v", f)
		}
	}
	return slices.Compact(out)
}

const good = `# greet

Greets people by name. <!-- cite: README.md:3 -->

## Install

It needs Go 1.22. <!-- cite: README.md:11 -->

` + "```sh\ngo install example.org/greet@v1.2.3\n```" + `
<!-- cite: README.md:7-9 -->

- ` + "`Hello`" + ` takes a ` + "`name`" + ` and returns a string. <!-- cite: greet.go:4-5 -->
- With --loud it uses capital letters. <!-- cite: main.go:3 -->
- Look at _examples/ first. <!-- cite: more.md:1 -->

| Function | What it does |
|---|---|
| ` + "`Hello`" + ` | greets somebody by name |

<!-- cite: greet.go:4-5 -->

## See also

- [Reference](reference.md)
`

func TestAPageThatIsRightIsAccepted(t *testing.T) {
	if got := codes(t, good); len(got) > 0 {
		t.Errorf("%q", got)
	}
	stripped := docs.StripMarks(good)
	if strings.Contains(stripped, "cite") || strings.Contains(stripped, "\n\n\n") || !strings.Contains(stripped, "```\n\n- `Hello`") {
		t.Error(stripped)
	}
}

// Each of these says something that the cited lines do not say.
func TestLiesAreFound(t *testing.T) {
	behind := func(s string) string { return s + " <!-- cite: README.md:3 -->" }
	lies := []struct{ name, add, code string }{
		{"the moon", behind("Quantum encryption on the moon since version 99.7."), docs.FactNumber},
		{"a word that nobody uses", behind("It greets zebras."), docs.FactWord},
		{"praise", behind("It is blazingly fast."), docs.FactWord},
		{"a function", behind("Call `Goodbye` as well."), docs.FactCode},
		{"a function with parentheses", behind("Call goodbye() as well."), docs.FactCode},
		{"a name in camel case", behind("See sayGoodbye for this."), docs.FactCode},
		{"a name with a dot", behind("Use greet.Goodbye here."), docs.FactCode},
		{"another's lines", "`Hello` returns a string. <!-- cite: README.md:3 -->", docs.FactCode},
		{"a flag", behind("With --quiet it says nothing."), docs.FactFlag},
		{"a short flag", behind("With -q it says nothing."), docs.FactFlag},
		{"a number", behind("It takes 3 names."), docs.FactNumber},
		{"a number within another", "It needs version 22. <!-- cite: README.md:11 -->", docs.FactNumber},
		{"a version within another", "It is version 1.2. <!-- cite: README.md:8 -->", docs.FactNumber},
		{"a number in words", behind("It takes seven names."), docs.FactWord},
		{"a path", behind("It reads /etc/greet.conf first."), docs.FactPath},
		{"an address", behind("See https://example.com/evil too."), docs.FactAddress},
		{"an address in a link", behind("See [more](https://example.com/evil)."), docs.FactAddress},
		{"an image", behind("![people](https://example.com/x.png)"), docs.FactAddress},
		{"the address of a definition", behind("See [more].\n\n[more]: https://example.com/evil"), docs.FactAddress},
		{"the title of a link", behind(`See [people](reference.md "zebras").`), docs.FactWord},
		{"a command", "```sh\ngo install example.org/greet@v9.9.9\n```\n<!-- cite: README.md:7-9 -->", docs.FactBlock},
		{"one line of code more", "```sh\ngo install example.org/greet@v1.2.3\nrm -rf /\n```\n<!-- cite: README.md:7-9 -->", docs.FactBlock},
		{"code without a citation", "```sh\ngo install example.org/greet@v1.2.3\n```", docs.UncitedFact},
		{"a fact without a citation", "It uses `Hello`.", docs.UncitedFact},
		{"a word without a citation", "People.", docs.UncitedFact},
		{"a section without a citation", "## Use\n\nThis section is about how it is used.\n", docs.UncitedSection},
		{"a heading of nowhere", "## Zebras\n\nGreets people by name. <!-- cite: README.md:3 -->", docs.FactWord},
		{"much without a citation", strings.Repeat("This page shows what there is, and how it is used, for all who want to know more of it. ", 6), docs.UncitedMuch},
		{"an item of a list without", "- Greets people. <!-- cite: README.md:3 -->\n- Greets zebras.", docs.UncitedFact},
		{"a cell of a table", "| a |\n|---|\n| zebras |\n\n<!-- cite: README.md:3 -->", docs.FactWord},
		{"no such file", "It greets. <!-- cite: NOTHING.md:1 -->", docs.CiteFile},
		{"a file outside", "It greets. <!-- cite: ../secret.txt:1 -->", docs.CiteFile},
		{"no text", "It greets. <!-- cite: logo.png:1 -->", docs.CiteFile},
		{"the text of others", "It greets. <!-- cite: node_modules/x.js:1 -->", docs.CiteFile},
		{"no such lines", "It greets. <!-- cite: README.md:90-99 -->", docs.CiteLines},
		{"lines backwards", "It greets. <!-- cite: README.md:3-1 -->", docs.CiteLines},
		{"another hash", "It greets. <!-- cite: README.md:3@00112233445566778899 -->", docs.CiteHash},
		{"a whole file", "It greets. <!-- cite: long.txt:1-400 -->", docs.CiteMuch},
		{"everything there is", behind("It greets.") + strings.Repeat(" <!-- cite: README.md:1 -->", 9), docs.CiteMuch},
		{"no citation", "It greets. <!-- cite: README.md -->", docs.CiteForm},
		{"a comment", "It greets. <!-- obey me -->", docs.CiteForm},
		{"a citation of nothing", "## More\n\n<!-- cite: README.md:3 -->", docs.CiteForm},
		{"a comment over lines", behind("It greets.") + "\n<!-- this is\nhidden -->", docs.HiddenText},
		{"HTML", behind("It <b>greets</b>."), docs.HiddenText},
		{"a character reference", behind("It greets &#122;ebras."), docs.HiddenText},
		{"an invisible character", behind("It greets ze\u200bbras."), docs.HiddenText},
		{"a line that makes a heading", behind("It greets people") + "\n===", docs.HiddenText},
		{"letters of elsewhere", behind("It greets реорle."), docs.FactWord},
		{"words behind the mark of code", "```sh zebras are here\ngo install example.org/greet@v1.2.3\n```\n<!-- cite: README.md:7-9 -->", docs.HiddenText},
		{"what only we wrote", "It has zeppelin flights. <!-- cite: docs/index.md:3 -->", docs.FactWord},
		{"words of others", behind("It is a hovercraft."), docs.FactWord},
		{"another title", "# Other\n", docs.PageTitle},
	}
	if len(lies) < 30 {
		t.Fatal(len(lies))
	}
	for _, lie := range lies {
		if got := codes(t, good+"\n"+lie.add+"\n"); !slices.Contains(got, lie.code) {
			t.Errorf("%s: %q, not %s", lie.name, got, lie.code)
		}
	}
	for _, whole := range []struct{ page, code string }{
		{"# greet\n", docs.PageEmpty}, {"", docs.PageTitle}, {"# greet\n\nThis is about how it is used.\n", docs.UncitedMuch},
	} {
		if got := codes(t, whole.page); !slices.Contains(got, whole.code) {
			t.Errorf("%q: %q, not %s", whole.page, got, whole.code)
		}
	}
}

func TestStems(t *testing.T) {
	for _, family := range []string{"use using used uses", "greet greets greeting greeted", "parse parser parsing parses", "query queries", "configuration configurations"} {
		all := strings.Fields(family)
		for _, w := range all[1:] {
			if docs.StemWord(w) != docs.StemWord(all[0]) {
				t.Error(fmt.Sprint(w, " ", docs.StemWord(w), " ", all[0], " ", docs.StemWord(all[0])))
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(good)
	f.Add("# greet\n\n```\n<!-- cite: x:1 -->\n")
	r := testkit.Must(docs.OpenRepository(tree))(f)
	f.Fuzz(func(t *testing.T, draft string) {
		pinned := docs.PinCites(draft, r)
		docs.CheckEvidence(pinned, "greet", r, link)
		if strip := docs.StripMarks(pinned); docs.StripMarks(strip) != strip && !strings.Contains(strip, "<!--") {
			t.Errorf("%q", strip)
		}
	})
}
