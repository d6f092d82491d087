package printer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"
)

func indented(src []byte) string {
	var b bytes.Buffer
	out := bufio.NewWriter(&b)
	indent(out, src, 0)
	out.Flush()
	return b.String()
}

func FuzzIndentAsTheStandardLibrary(f *testing.F) {
	for _, seed := range []string{
		`null`, `{}`, `[]`, `{"a":{},"b":[],"c":[[],{}]}`, `"\\"`, `"\\\""`, `{"a,b":"{[:]}","c":[1,-2.5e9,true,false,null]}`,
		`[{"text":"line\nline \u2028 ü","n":[1,[2,[3]]]},{"\"":"\\\\"}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var compact, want bytes.Buffer
		if json.Compact(&compact, src) != nil {
			return // not JSON
		}
		if err := json.Indent(&want, compact.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		if got := indented(compact.Bytes()); got != want.String() {
			t.Errorf("%s\nwant\n%s", got, want.String())
		}
	})
}

// numbers is a long datum of any elements.
type numbers []any

func (n numbers) Text(*Writer) {}

func (n numbers) List() (string, iter.Seq[any]) { return "numbers", slices.Values(n) }

func TestAListingPrintsAsOneValueWithAnElementALine(t *testing.T) {
	for want, list := range map[string]numbers{
		"{\n  \"numbers\": []\n}\n":            {},
		"{\n  \"numbers\": [\n    1\n  ]\n}\n": {1},
		"{\n  \"numbers\": [\n    1,\n    \"a\\nb<&>\",\n    {\"x\":[1,2]},\n    null\n  ]\n}\n": {
			1, "a\nb<&>", map[string]any{"x": []int{1, 2}}, nil},
	} {
		var got bytes.Buffer
		if err := (&Printer{Out: &got, JSON: true}).Print(list); err != nil {
			t.Fatal(err)
		}
		if got.String() != want {
			t.Errorf("%s\nwant\n%s", got.String(), want)
		}
		if !json.Valid(got.Bytes()) {
			t.Errorf("not JSON: %s", got.String())
		}
	}
}

// A name with a line break in it is one row, and pretends to be no second.
func TestACellStaysInItsRow(t *testing.T) {
	var out bytes.Buffer
	p := &Printer{Out: &out, Now: time.Now}
	if err := p.Print(forged{}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "WHAT                       SIZE\na.md␊new  instructions  x  1\n" {
		t.Errorf("%q", got)
	}
}

type forged struct{}

func (forged) Text(w *Writer) {
	w.Table([][]string{{"WHAT", "SIZE"}, {"a.md\nnew  instructions  x", "1"}})
}

func TestColumnsAreAsWideAsTheirWidestCell(t *testing.T) {
	long := strings.Repeat("─", 70)
	w := &Writer{}
	w.Table([][]string{{"A", "B"}, {long, "1"}, {"x", "2"}, {"y", " "}})
	want := "A" + strings.Repeat(" ", 71) + "B\n" + long + "  1\nx" + strings.Repeat(" ", 71) + "2\ny\n"
	if got := w.b.String(); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestAnAgeHasOneUnit(t *testing.T) {
	now := time.Now()
	w := &Writer{now: now}
	for ago, want := range map[time.Duration]string{-time.Second: "0s", 0: "0s", 59 * time.Second: "59s", time.Minute: "1m",
		59 * time.Minute: "59m", time.Hour: "1h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 1000 * time.Hour: "41d"} {
		if got := w.Age(now.Add(-ago)); got != want {
			t.Errorf("%s ago: %s, want %s", ago, got, want)
		}
	}
}
