package printer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"
)

func indented(src []byte) string {
	var b bytes.Buffer
	out := bufio.NewWriter(&b)
	indent(out, src)
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
			t.Skip("not JSON")
		}
		if err := json.Indent(&want, compact.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		if got := indented(compact.Bytes()); got != want.String() {
			t.Errorf("%s\nwant\n%s", got, want.String())
		}
	})
}
