package recipe

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestBind(t *testing.T) {
	r := embedded(t)
	got, err := r.Bind(map[string]string{"repo": "/a b", "branch": ""})
	if err != nil || got["repo"] != "/a b" || got["branch"] != "" || got["docs_dir"] != "" || len(got) != len(r.Parameters) {
		t.Errorf("%v %v", got, err)
	}
	for _, c := range []struct {
		set  map[string]string
		want string
	}{
		{nil, "recipe docs needs a value for repo: give it with --set repo=…"},
		{map[string]string{"repo": ""}, "needs a value for repo"},
		{map[string]string{"repo": "x", "docsdir": "y"}, `has no parameter "docsdir": did you mean docs_dir?`},
		{map[string]string{"repo": "x", "base": "y"}, `has no parameter "base"`},
		{map[string]string{"repo": "a\x00b"}, "NUL"},
		{map[string]string{"repo": "\xff"}, "UTF-8"},
		{map[string]string{"repo": strings.Repeat("x", 70_000)}, "65536"},
	} {
		if _, err := r.Bind(c.set); !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80v: %v, want %s", c.set, err, c.want)
		}
	}
}

func TestValuesAreThoseOfNamesInBraces(t *testing.T) {
	r := mustParse(t, good)
	bound := testkit.Must(r.Bind(nil))(t)
	values := r.Values(bound, "c0ffee")
	got, err := ExpandText("{who} {base} {sections} {scope} {Other} {", "s", values)
	want := `world c0ffee [{"name":"one","title":"One","brief":""},{"name":"two","title":"Two","brief":""}] s {Other} {`
	if err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, there := bound["base"]; there {
		t.Error("the caller's map was changed")
	}
	if none := (&Recipe{}).Values(nil, ""); none["sections"] != "[]" {
		t.Errorf("%v", none)
	}
	if _, err := ExpandText("{base}", "s", bound); !fault.Is(err, fault.Usage) {
		t.Errorf("%v", err)
	}
}

func TestScopes(t *testing.T) {
	file := func(text string) func(string) ([]byte, error) {
		return func(path string) ([]byte, error) {
			if path != "artifacts/l.json" {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		}
	}
	from := Each{From: "artifacts/l.json"}
	sections := []string{"a", "b"}
	for _, c := range []struct {
		each Each
		text string
		want string
	}{
		{Each{Once: true}, "", "[all]"},
		{Each{Sections: true}, "", "[a b]"},
		{Each{Issue: true}, "", "[]"},
		{Each{List: []string{"x", "y"}}, "", "[x y]"},
		{from, `["q","p"]`, "[q p]"},
		{from, `[]`, "[]"},
		{from, `["a","a"]`, "names a twice"},
		{from, `["../a"]`, `names "../a"`},
		{from, `[".."]`, `names ".."`},
		{from, `["` + strings.Repeat("a", 81) + `"]`, "names"},
		{from, `[1]`, "is not JSON list of texts"},
		{from, `null`, "is not JSON list of texts"},
		{from, `{"a":1}`, "is not JSON list of texts"},
		{from, `["a"] x`, "is not JSON list of texts"},
	} {
		got, err := ItemScopes(Worker{Name: "w", Each: c.each}, sections, file(c.text))
		if text := fmt.Sprint(got, err); !strings.Contains(text, c.want) || err != nil && !fault.Is(err, fault.OutputInvalid) {
			t.Errorf("%+v %s: %s, want %s", c.each, c.text, text, c.want)
		}
	}
	if _, err := ItemScopes(Worker{Each: Each{From: "artifacts/none"}}, nil, file("")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := ItemScopes(Worker{Each: Each{Sections: true}}, []string{"a/b"}, nil); !fault.Is(err, fault.OutputInvalid) {
		t.Errorf("%v", err)
	}
}

func TestExpand(t *testing.T) {
	params := map[string]string{"file": "work/in/notes.md", "word": "v1", "empty": "", "up": "..", "out": "../../etc/passwd", "abs": "/etc/passwd",
		"slash": "a/b", "star": "**", "stars": "work/**", "nul": "a\x00", "brace": "{scope}"}
	for _, c := range []struct{ path, scope, want, refused string }{
		{"drafts/{scope}/a.patch", "one", "drafts/one/a.patch", ""},
		{"drafts/{scope}-{word}/**", "one", "drafts/one-v1/**", ""},
		{"{file}", "one", "work/in/notes.md", ""},
		{"drafts/{brace}", "one", "drafts/{scope}", ""}, // a value is not expanded again
		{"drafts/{scope}", "..", "", "not a name of a file"},
		{"drafts/{scope}", "a/b", "", "not a name of a file"},
		{"drafts/{scope}", "", "", "not a name of a file"},
		{"drafts/{up}", "x", "", "has the part .."},
		{"drafts/{slash}", "x", "", "not a name of a file"},
		{"drafts/{empty}", "x", "", "not a name of a file"},
		{"drafts/{star}", "x", "", "is not a file"},
		{"drafts/{nul}", "x", "", "holds a character"},
		{"{stars}", "x", "", "is not a file"},
		{"{out}", "x", "", "has the part .."},
		{"{abs}", "x", "", "is absolute"},
		{"{empty}", "x", "", "is empty"},
		{"{none}", "x", "", "has no value here"},
	} {
		got, err := ExpandPath(c.path, c.scope, params)
		if c.refused == "" && (err != nil || got != c.want) {
			t.Errorf("%s: %q, %v, want %q", c.path, got, err, c.want)
		}
		if c.refused != "" && (!fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %q, %v, want %s", c.path, got, err, c.refused)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"drafts/**", "drafts/a", true}, {"drafts/**", "drafts/a/b", true}, {"drafts/**", "drafts", false},
		{"drafts/**", "drafts/", false}, {"drafts/**", "draftsx/a", false}, {"drafts/a", "drafts/a", true}, {"drafts/a", "drafts/ab", false},
	} {
		if CoversPath(c.pattern, c.path) != c.want {
			t.Errorf("%s covers %s: %v", c.pattern, c.path, !c.want)
		}
	}
}
