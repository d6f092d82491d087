package run

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"ramet/internal/base/chain"
	_ "ramet/internal/testkit"
)

// isCanonical is the short way to the same verdict: bring the text into the form,
// see whether anything changed.
func isCanonical(text []byte) bool {
	form, err := chain.Canonical(text)
	return err == nil && bytes.Equal(form, text) && depthOf(text) <= maxDepth
}

// depthOf counts as canonicalValue does: values inside the outermost are at 1.
func depthOf(text []byte) int {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	deepest := 0
	for {
		before := dec.StackDepth()
		tok, err := dec.ReadToken()
		if err != nil {
			return deepest
		}
		if k := tok.Kind(); k != '}' && k != ']' {
			deepest = max(deepest, before)
		}
	}
}

func whole(text []byte) bool {
	n, err := canonicalValue(text, 0)
	return err == nil && n == len(text)
}

func sameVerdict(t interface{ Errorf(string, ...any) }, text []byte) {
	if got, want := whole(text), isCanonical(text); got != want {
		_, err := canonicalValue(text, 0)
		form, _ := chain.Canonical(text)
		t.Errorf("%.200q: canonical by the scan: %v (%v), by canonicalising: %v (%.200q)", text, got, err, want, form)
	}
}

var canonicalCorners = []string{
	"", " ", "{", "}", "[", "]", "[1", "[1,", "[1,]", "[,]", "{}", "[]", "[[]]", "{}{}", "[] ", " []", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`,
	"null", "nul", "true", "false", "truefalse", "nulll", "True",
	"0", "-0", "-", "+1", "1", "-1", "01", "-01", "1.", ".5", "1.0", "1.5", "0.1", "0.10", "1e1", "1E21", "1e21", "1e+21", "1e-7", "0.0000001", "0.000001",
	"5e-324", "4.9e-324", "2e-324", "1e-400", "1e400", "-1e400", "1.7976931348623157e+308", "1.7976931348623157e308", "1.7976931348623159e+308",
	"123456789012345", "1234567890123456", "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993", "999999999999999999999",
	"100000000000000000000", "1000000000000000000000", "12345678901234567890", "333333333.33333329", "333333333.3333333", "1--2", "1e", "1e+", "1-",
	`""`, `"`, `"a`, `"\"`, `"\\"`, `"\/"`, `"/"`, `"\b\f\n\r\t"`, `"\u0008"`, `"\u000b"`, `"\u000B"`, `"\u001f"`, `"\u001F"`, `"\u0020"`, `"\u007f"`, `"\u00e4"`,
	`"ä"`, `"\ud83d\ude00"`, `"😀"`, `"\ud83d"`, `"\u"`, `"\u00"`, `"\x"`, "\"\x00\"", "\"\x1f\"", "\"\n\"", "\"\x7f\"", "\"\x80\"", "\"\xed\xa0\x80\"", "\"\ufffd\"",
	`{"a":1,"b":2}`, `{"b":1,"a":2}`, `{"a":1,"a":2}`, `{"a":1,"aa":2}`, `{"aa":1,"a":2}`, `{"":1,"a":2}`, `{"1":1,"10":2,"2":3}`, `{"A":1,"a":2}`,
	// By UTF-16 code units the pair of U+1F600 (D83D DE00) comes before U+E000
	// and U+FB33; by bytes of UTF-8 behind.
	"{\"\U0001f600\":1,\"\ufb33\":2}", "{\"\ufb33\":1,\"\U0001f600\":2}", "{\"\U0001f600\":1,\"\ue000\":2}", "{\"\ue000\":1,\"\U0001f600\":2}", "{\"\ud7ff\":1,\"\U0001f600\":2}",
	`{"\n":1,"a":2}`, `{"a":1,"\n":2}`, `{"\r":1,"1":2}`, `{"\u0001":1,"\u0002":2}`, `{"\\":1,"]":2}`, `{"[":1,"\\":2}`, `{"\"":1,"#":2}`, `{"!":1,"\"":2}`, `{"a\n":1,"ab":2}`,
	`{1:2}`, `{"a"1}`, `{"a":1 "b":2}`, `[1 2]`, `[1:2]`,
}

func TestTheScanAgreesWithCanonicalisingAtTheCorners(t *testing.T) {
	for _, text := range canonicalCorners {
		sameVerdict(t, []byte(text))
		sameVerdict(t, []byte(`{"a":[`+text+`]}`))
		sameVerdict(t, []byte(`{`+text+`:1}`))
	}
}

func TestNestingHasALimit(t *testing.T) {
	for depth := maxDepth - 2; depth <= maxDepth+3; depth++ {
		sameVerdict(t, []byte(strings.Repeat("[", depth)+strings.Repeat("]", depth)))
		sameVerdict(t, []byte(strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth)))
	}
	if whole([]byte(strings.Repeat("[", 1<<20))) {
		t.Error("a million brackets are a value")
	}
}

// generated draws a value; keys and strings come from what sorts and escapes in
// unusual ways.
func generated(t *rapid.T, depth int) any {
	kinds := 8
	if depth > 3 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Float64().Draw(t, "float")
	case 3:
		return rapid.Int64().Draw(t, "int")
	case 4:
		return json.Number(rapid.SampledFrom([]string{"-0", "1e21", "5e-324", "0.1", "1E400", "9007199254740993", "1.0", "1e20", "123456789012345678901"}).Draw(t, "number"))
	case 5:
		return oddText(t)
	case 6:
		list := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			list = append(list, generated(t, depth+1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 5).Draw(t, "n") {
		object[oddText(t)] = generated(t, depth+1)
	}
	return object
}

func oddText(t *rapid.T) string {
	odd := rapid.SampledFrom([]rune{'a', 'b', 'A', '"', '\\', '/', '\n', '\b', 0, 0x1f, 0x7f, 'ä', 0x2028, 0xd7ff, 0xe000, 0xfb33, 0xfffd, 0xffff, 0x10000, 0x1f600, 0x10ffff})
	return string(rapid.SliceOfN(odd, 0, 3).Draw(t, "text"))
}

func TestTheScanAgreesWithCanonicalisingOnAnyValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(generated(t, 0))
		if err != nil {
			t.Fatal(err)
		}
		sameVerdict(t, text)
		form, err := chain.Canonical(text)
		if err != nil {
			return // a number beyond a double
		}
		if !whole(form) {
			_, err := canonicalValue(form, 0)
			t.Fatalf("%q is refused: %v", form, err)
		}
		// One byte off is mostly not canonical, and sometimes it is.
		broken := slices.Clone(form)
		i := rapid.IntRange(0, len(broken)-1).Draw(t, "at")
		switch rapid.IntRange(0, 2).Draw(t, "damage") {
		case 0:
			broken[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case 1:
			broken = slices.Delete(broken, i, i+1)
		case 2:
			broken = slices.Insert(broken, i, rapid.SampledFrom([]byte(` ,:"\{}[]0-.eu`)).Draw(t, "byte"))
		}
		sameVerdict(t, broken)
	})
}

func TestKeysAreOrderedByTheirUTF16Units(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := oddText(t), oddText(t)
		qa, _ := jsontext.AppendQuote(nil, a)
		qb, _ := jsontext.AppendQuote(nil, b)
		text := slices.Concat([]byte("{"), qa, []byte(":1,"), qb, []byte(":2}"))
		want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) < 0
		if got := whole(text); got != want && isCanonical(qa) && isCanonical(qb) {
			t.Errorf("%s: in order %v, want %v", text, got, want)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, text := range canonicalCorners {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { sameVerdict(t, text) })
}
