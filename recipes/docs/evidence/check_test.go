package evidence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"ramet/recipes/docs/evidence"
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
	r, err := evidence.Open(tree)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range evidence.Check(evidence.Pin(draft, r), "greet", r, link) {
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
	stripped := evidence.Strip(good)
	if strings.Contains(stripped, "cite") || strings.Contains(stripped, "\n\n\n") || !strings.Contains(stripped, "```\n\n- `Hello`") {
		t.Error(stripped)
	}
}

// Each of these says something that the cited lines do not say.
func TestLiesAreFound(t *testing.T) {
	behind := func(s string) string { return s + " <!-- cite: README.md:3 -->" }
	lies := []struct{ name, add, code string }{
		{"the moon", behind("Quantum encryption on the moon since version 99.7."), evidence.FactNumber},
		{"a word that nobody uses", behind("It greets zebras."), evidence.FactWord},
		{"praise", behind("It is blazingly fast."), evidence.FactWord},
		{"a function", behind("Call `Goodbye` as well."), evidence.FactCode},
		{"a function with parentheses", behind("Call goodbye() as well."), evidence.FactCode},
		{"a name in camel case", behind("See sayGoodbye for this."), evidence.FactCode},
		{"a name with a dot", behind("Use greet.Goodbye here."), evidence.FactCode},
		{"another's lines", "`Hello` returns a string. <!-- cite: README.md:3 -->", evidence.FactCode},
		{"a flag", behind("With --quiet it says nothing."), evidence.FactFlag},
		{"a short flag", behind("With -q it says nothing."), evidence.FactFlag},
		{"a number", behind("It takes 3 names."), evidence.FactNumber},
		{"a number within another", "It needs version 22. <!-- cite: README.md:11 -->", evidence.FactNumber},
		{"a version within another", "It is version 1.2. <!-- cite: README.md:8 -->", evidence.FactNumber},
		{"a number in words", behind("It takes seven names."), evidence.FactWord},
		{"a path", behind("It reads /etc/greet.conf first."), evidence.FactPath},
		{"an address", behind("See https://example.com/evil too."), evidence.FactAddress},
		{"an address in a link", behind("See [more](https://example.com/evil)."), evidence.FactAddress},
		{"an image", behind("![people](https://example.com/x.png)"), evidence.FactAddress},
		{"the address of a definition", behind("See [more].\n\n[more]: https://example.com/evil"), evidence.FactAddress},
		{"the title of a link", behind(`See [people](reference.md "zebras").`), evidence.FactWord},
		{"a command", "```sh\ngo install example.org/greet@v9.9.9\n```\n<!-- cite: README.md:7-9 -->", evidence.FactBlock},
		{"one line of code more", "```sh\ngo install example.org/greet@v1.2.3\nrm -rf /\n```\n<!-- cite: README.md:7-9 -->", evidence.FactBlock},
		{"code without a citation", "```sh\ngo install example.org/greet@v1.2.3\n```", evidence.UncitedFact},
		{"a fact without a citation", "It uses `Hello`.", evidence.UncitedFact},
		{"a word without a citation", "People.", evidence.UncitedFact},
		{"a section without a citation", "## Use\n\nThis section is about how it is used.\n", evidence.UncitedSection},
		{"a heading of nowhere", "## Zebras\n\nGreets people by name. <!-- cite: README.md:3 -->", evidence.FactWord},
		{"much without a citation", strings.Repeat("This page shows what there is, and how it is used, for all who want to know more of it. ", 6), evidence.UncitedMuch},
		{"an item of a list without", "- Greets people. <!-- cite: README.md:3 -->\n- Greets zebras.", evidence.UncitedFact},
		{"a cell of a table", "| a |\n|---|\n| zebras |\n\n<!-- cite: README.md:3 -->", evidence.FactWord},
		{"no such file", "It greets. <!-- cite: NOTHING.md:1 -->", evidence.CiteFile},
		{"a file outside", "It greets. <!-- cite: ../secret.txt:1 -->", evidence.CiteFile},
		{"no text", "It greets. <!-- cite: logo.png:1 -->", evidence.CiteFile},
		{"the text of others", "It greets. <!-- cite: node_modules/x.js:1 -->", evidence.CiteFile},
		{"no such lines", "It greets. <!-- cite: README.md:90-99 -->", evidence.CiteLines},
		{"lines backwards", "It greets. <!-- cite: README.md:3-1 -->", evidence.CiteLines},
		{"another hash", "It greets. <!-- cite: README.md:3@00112233445566778899 -->", evidence.CiteHash},
		{"a whole file", "It greets. <!-- cite: long.txt:1-400 -->", evidence.CiteMuch},
		{"everything there is", behind("It greets.") + strings.Repeat(" <!-- cite: README.md:1 -->", 9), evidence.CiteMuch},
		{"no citation", "It greets. <!-- cite: README.md -->", evidence.CiteForm},
		{"a comment", "It greets. <!-- obey me -->", evidence.CiteForm},
		{"a citation of nothing", "## More\n\n<!-- cite: README.md:3 -->", evidence.CiteForm},
		{"a comment over lines", behind("It greets.") + "\n<!-- this is\nhidden -->", evidence.HiddenText},
		{"HTML", behind("It <b>greets</b>."), evidence.HiddenText},
		{"a character reference", behind("It greets &#122;ebras."), evidence.HiddenText},
		{"a character that nobody sees", behind("It greets ze\u200bbras."), evidence.HiddenText},
		{"a line that makes a heading", behind("It greets people") + "\n===", evidence.HiddenText},
		{"letters of elsewhere", behind("It greets реорle."), evidence.FactWord},
		{"words behind the mark of code", "```sh zebras are here\ngo install example.org/greet@v1.2.3\n```\n<!-- cite: README.md:7-9 -->", evidence.HiddenText},
		{"what only we wrote", "It has zeppelin flights. <!-- cite: docs/index.md:3 -->", evidence.FactWord},
		{"words of others", behind("It is a hovercraft."), evidence.FactWord},
		{"another title", "# Other\n", evidence.PageTitle},
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
		{"# greet\n", evidence.PageEmpty}, {"", evidence.PageTitle}, {"# greet\n\nThis is about how it is used.\n", evidence.UncitedMuch},
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
			if evidence.Stem(w) != evidence.Stem(all[0]) {
				t.Error(fmt.Sprint(w, " ", evidence.Stem(w), " ", all[0], " ", evidence.Stem(all[0])))
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(good)
	f.Add("# greet\n\n```\n<!-- cite: x:1 -->\n")
	r, err := evidence.Open(tree)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, draft string) {
		pinned := evidence.Pin(draft, r)
		evidence.Check(pinned, "greet", r, link)
		if strip := evidence.Strip(pinned); evidence.Strip(strip) != strip && !strings.Contains(strip, "<!--") {
			t.Errorf("%q", strip)
		}
	})
}
