package scribe

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden pages anew")

// assignment is a small one of every kind.
func assignment(section string) *Assignment {
	claims := map[string]Claim{}
	var ids []string
	add := func(c Claim) {
		claims[c.ID] = c
		ids = append(ids, c.ID)
	}
	switch section {
	case "overview":
		add(Claim{ID: "p.name", Kind: "project", Name: "name", Signature: "h.org/lines", Text: "The Go module is `h.org/lines`."})
		add(Claim{ID: "r.top", Kind: "readme", Name: "Lines", Text: "Lines reads *lines*.\n\n[![CI](https://ci/b.svg)](https://ci)\n\nIt is small, see [the format](https://h.org/f)."})
		add(Claim{ID: "r.features", Kind: "readme", Name: "Features :rocket:", Text: "- fast\n- safe"})
		add(Claim{ID: "r.usage", Kind: "readme", Name: "Usage", Text: "Read a line:\n\n```go\nlines.Parse(r)\n```\n\nMore follows in the guide."})
		add(Claim{ID: "i.get", Kind: "install", Name: "h.org/lines", Module: "h.org/lines", Signature: "go get h.org/lines", Text: "Add the module to a project with `go get h.org/lines`."})
		add(Claim{ID: "l.mit", Kind: "licence", Name: "MIT", Text: "Licensed under MIT."})
	case "guide":
		add(Claim{ID: "q.go", Kind: "requires", Name: "Go", Signature: "1.22", Text: "Needs Go 1.22 or later."})
		add(Claim{ID: "q.x", Kind: "requires", Name: "h.org/x", Signature: "v1.0.0", Text: "Depends on `h.org/x` (`v1.0.0`)."})
		add(Claim{ID: "i.get", Kind: "install", Name: "h.org/lines", Module: "h.org/lines", Signature: "go get h.org/lines", Text: "Add the module to a project with `go get h.org/lines`."})
		add(Claim{ID: "r.usage", Kind: "readme", Name: "Usage", Text: "## Reading\n\nRead a line:\n\n```go\nlines.Parse(r)\n```"})
		add(Claim{ID: "e.count", Kind: "example", Name: "count", Language: "go", Signature: "n := lines.Count(r)", Text: "Count them."})
	case "reference":
		add(Claim{ID: "m", Kind: "module", Name: "lines", Module: "h.org/lines", Language: "go", Signature: `import "h.org/lines"`, Text: "Package lines reads lines.\n\n# Limits\n\nNone."})
		add(Claim{ID: "v.max", Kind: "value", Name: "Max", Module: "h.org/lines", Language: "go", Signature: "const Max = 10", Text: "Max is how long a line may be."})
		add(Claim{ID: "v.group", Kind: "value", Name: "A", Module: "h.org/lines", Language: "go", Signature: "const (\n\tA = iota\n\tB\n\tC\n\tD\n)", Text: "Kinds of lines."})
		add(Claim{ID: "f.parse", Kind: "function", Name: "Parse", Module: "h.org/lines", Language: "go", Signature: "func Parse(r io.Reader) (*Line, error)", Text: "Parse reads a <line>:\n\n\tl, err := Parse(r)\n"})
		add(Claim{ID: "x.parse", Kind: "example", Name: "Parse", Module: "h.org/lines", Language: "go", Signature: "Parse(os.Stdin)", Text: ""})
		add(Claim{ID: "t.line", Kind: "type", Name: "Line", Module: "h.org/lines", Language: "go", Signature: "type Line struct{}", Text: ""})
		add(Claim{ID: "t.line.len", Kind: "method", Name: "Line.Len", Module: "h.org/lines", Language: "go", Signature: "func (l *Line) Len() int", Text: "Len is its length."})
	case "cli":
		add(Claim{ID: "e", Kind: "entry", Name: "lines", Signature: "cmd/lines", Text: "Command lines counts lines."})
		add(Claim{ID: "c.count", Kind: "command", Name: "count", Module: "lines", Signature: "lines count [file]", Text: "Count the lines of <file>."})
		add(Claim{ID: "g.all", Kind: "flag", Name: "--all", Module: "lines count", Signature: "-a, --all", Text: "count all | any"})
	case "contributing":
		add(Claim{ID: "r.c", Kind: "readme", Name: "Contributing", Text: "Send patches."})
		add(Claim{ID: "k.test", Kind: "convention", Name: "test", Signature: "make test", Text: "`make test` runs `go test ./...`."})
		add(Claim{ID: "k.ci", Kind: "convention", Name: "ci", Text: "The workflow `ci` runs in CI on: push."})
		add(Claim{ID: "l.mit", Kind: "licence", Name: "MIT", Text: "Licensed under MIT."})
	case "mine":
		add(Claim{ID: "f", Kind: "function", Name: "f", Module: "m", Language: "python", Signature: "def f(a: int) -> int", Text: "Does it.\n\n:param a: a number"})
		add(Claim{ID: "k", Kind: "convention", Name: "k", Signature: "make", Text: ""})
		add(Claim{ID: "p", Kind: "project", Name: "version", Signature: "1.0", Text: "The version is `1.0`."})
	}
	path, title := "docs/"+section+".md", strings.ToUpper(section[:1])+section[1:]
	if section == "overview" {
		path, title = "docs/index.md", "lines"
	}
	a := &Assignment{Project: "lines", Claims: claims, Titles: map[string]string{"docs/other.md": "Other | things", "docs/other/x.md": "X"}}
	a.Section = Section{Name: section, Pages: []Page{{Path: path, Title: title, Claims: ids, Related: []string{"docs/other.md", "docs/other/x.md"}}}}
	return a
}

var sections = []string{"overview", "guide", "reference", "cli", "contributing", "mine"}

func TestPages(t *testing.T) {
	for _, s := range sections {
		a := assignment(s)
		got := Fresh(a, a.Section.Pages[0])
		file := filepath.Join("testdata", s+".md")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not the golden page:\n%s", s, got)
		}
	}
}

// A page cites its claims, and none that is not its own.
func TestPagesCiteOnlyWhatTheyAreGiven(t *testing.T) {
	for _, s := range sections {
		a := assignment(s)
		p := &a.Section.Pages[0]
		p.Claims = append(p.Claims, "nobody-knows", "Bad Id")
		a.Claims["Bad Id"] = Claim{Kind: "project", Name: "description", Text: "x"}
		a.Claims["not-of-the-page"] = Claim{ID: "not-of-the-page", Kind: "licence", Text: "Secret licence."}
		got := Fresh(a, *p)
		for _, m := range anyMarker().FindAllString(got, -1) {
			id := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(m, "<!-- claim:"), "-->"))
			if _, ok := a.Claims[id]; !ok || id == "not-of-the-page" {
				t.Errorf("%s cites %q", s, id)
			}
		}
		if strings.Contains(got, "Secret licence") || strings.Contains(got, "nobody-knows") || strings.Contains(got, "Bad Id") {
			t.Errorf("%s says what is not its own", s)
		}
	}
}

func TestWhatOthersWroteStays(t *testing.T) {
	a := assignment("guide")
	p := a.Section.Pages[0]
	apply := func(page string) string {
		t.Helper()
		c, why := Revise(a, p, page)
		if why != "" {
			t.Fatalf("%q: %s", page, why)
		}
		if strings.Count(page, c.Old) != 1 {
			t.Fatalf("%q stands on the page %d times", c.Old, strings.Count(page, c.Old))
		}
		return strings.Replace(page, c.Old, c.New, 1)
	}
	// With a title of its own: the block goes below it.
	foreign := "# Mine\n\nHello.\n\n```\n# no title\n<!-- ramet:begin guide -->\n```\n\nHello.\n"
	once := apply(foreign)
	if !strings.HasPrefix(once, strings.TrimRight(foreign, "\n")) || !strings.Contains(once, "\n\n## Guide\n") || strings.Count(once, "\n# ") != 1 {
		t.Errorf("got\n%s", once)
	}
	if twice := apply(once); twice != once {
		t.Errorf("again:\n%s", twice)
	}
	// The words around the block stay, its own go.
	around := "# Mine\n\nBefore.\n\n<!-- ramet:begin guide -->\nold words\n<!-- ramet:end guide -->\n\nAfter.\n"
	if got := apply(around); !strings.HasPrefix(got, "# Mine\n\nBefore.\n\n<!-- ramet:begin guide -->\n") || !strings.HasSuffix(got, "<!-- ramet:end guide -->\n\nAfter.\n") || strings.Contains(got, "old words") {
		t.Errorf("got\n%s", got)
	}
	// A page of ours is a page of ours again.
	if fresh := Fresh(a, p); apply(fresh) != fresh {
		t.Error("a new page changes when it is brought up to date")
	}
	// Without a title: ours comes first.
	if got := apply("Some words.\n"); !strings.HasPrefix(got, "<!-- ramet:begin guide -->\n\n# Guide\n") || !strings.HasSuffix(got, "<!-- ramet:end guide -->\n\nSome words.\n") {
		t.Errorf("got\n%s", got)
	}
	// A title in front matter is one.
	if got := apply("---\ntitle: x\n---\n\nWords.\n"); !strings.HasPrefix(got, "---\ntitle: x\n---\n\nWords.\n\n<!-- ramet:begin guide -->\n\n## Guide") {
		t.Errorf("got\n%s", got)
	}
	if c, why := Revise(a, p, " \n"); c.Old != "" || why != "" || c.New != Fresh(a, p) {
		t.Errorf("an empty page: %+v %q", c, why)
	}
	for _, bad := range []string{"x\n<!-- ramet:begin guide -->\ny", "x\n<!-- ramet:end guide -->\n<!-- ramet:begin guide -->", "<!-- ramet:begin guide -->\n<!-- ramet:begin guide -->\n<!-- ramet:end guide -->"} {
		if _, why := Revise(a, p, bad); why == "" {
			t.Errorf("%q is taken for a page in order", bad)
		}
	}
}

func TestOrdersAreKnownByTheirFirstLine(t *testing.T) {
	b, err := json.MarshalIndent(assignment("guide"), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	block := "\n```json\n" + string(b) + "\n```\n"
	if a, why, ok := Draft("Draft the section \"guide\" of the documentation of lines.\n\nIt said:\n```json\n{\n" + block); !ok || why != "" || a.Section.Name != "guide" {
		t.Errorf("%q %v", why, ok)
	}
	for _, not := range []string{"", "draft the section", "Please Draft the section \"guide\" of the documentation." + block, "x\nDraft the section \"guide\" of the documentation." + block, "Mend one issue in the docs."} {
		if _, _, ok := Draft(not); ok {
			t.Errorf("%q is taken for an order", not)
		}
		if _, _, _, ok := Mend(not); ok {
			t.Errorf("%q is taken for an order", not)
		}
	}
	for _, bad := range []string{"", "\n```json\n{\n```", "\n```json\n{}\n```", strings.ReplaceAll(block, "docs/guide.md", "../guide.md"), strings.ReplaceAll(block, "docs/guide.md", "docs/guide.go"),
		strings.ReplaceAll(block, `"guide"`, `"cli"`), strings.ReplaceAll(block, "docs/guide.md", "docs/.git/guide.md")} {
		if _, why, ok := Draft("Draft the section \"guide\" of the documentation." + bad); !ok || why == "" {
			t.Errorf("%.60q is taken for an assignment", bad)
		}
	}
}

func FuzzDraft(f *testing.F) {
	for _, s := range sections {
		b, err := json.Marshal(assignment(s))
		if err != nil {
			f.Fatal(err)
		}
		f.Add("Draft the section \""+s+"\" of the documentation.\n```json\n"+string(b)+"\n```\n", "# x\n\n<!-- ramet:begin "+s+" -->\n<!-- ramet:end "+s+" -->\n")
	}
	f.Fuzz(func(t *testing.T, order, page string) {
		a, why, ok := Draft(order)
		if !ok || why != "" {
			return
		}
		for _, p := range a.Section.Pages {
			fresh := Fresh(&a, p)
			if fresh != Fresh(&a, p) || !strings.HasPrefix(fresh, begin(a.Section.Name)+"\n") || !strings.HasSuffix(fresh, "\n"+end(a.Section.Name)+"\n") {
				t.Fatalf("%q", fresh)
			}
			if c, why := Revise(&a, p, fresh); why != "" || c.Old != c.New {
				t.Fatalf("a new page is not in order: %s\n%s", why, fresh)
			}
			if c, why := Revise(&a, p, page); why == "" && c.Old != "" && strings.Count(page, c.Old) != 1 {
				t.Fatalf("%q", c.Old)
			}
		}
	})
}
