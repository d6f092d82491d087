package ledger

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"ramet/internal/testkit"
)

func TestSetKeepsThePlaceAndTheSpelling(t *testing.T) {
	o := testkit.Must(ParseObject([]byte("\xef\xbb\xbf { \"a\" : 1.50, \"b\":[ 1,2 ],\"a\":\"\\u0061\", \"c\":{ } }\n")))(t)
	o.Set("a", QuoteJSON("<x>"))
	o.Set("d", []byte("null"))
	o.Delete("c")
	const want = "{\n  \"a\": 1.50,\n  \"b\": [ 1,2 ],\n  \"a\": \"<x>\",\n  \"d\": null\n}"
	if got := string(o.Append(nil, 0)); got != want {
		t.Errorf("%s", got)
	}
	if raw, ok := o.Get("a"); !ok || string(raw) != `"<x>"` {
		t.Errorf("%s", raw)
	}
	if _, ok := o.Get("c"); ok {
		t.Error("c is still there")
	}
}

func TestEmptyThings(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{string(Object{}.Append(nil, 3)), "{}"},
		{string(AppendJSONList(nil, nil, 3)), "[]"},
		{string(AppendJSONList(nil, [][]byte{[]byte("1"), []byte("2")}, 1)), "[\n    1,\n    2\n  ]"},
	} {
		if c.got != c.want {
			t.Errorf("%q, not %q", c.got, c.want)
		}
	}
}

func TestWhatIsNoObjectIsRefused(t *testing.T) {
	for _, data := range []string{"", " ", "[]", "1", "{", `{"a":}`, `{}{}`, "nul", `{"a":1,}`} {
		if _, err := ParseObject([]byte(data)); err == nil {
			t.Errorf("%q is an object", data)
		}
	}
	if _, err := ParseJSONList([]byte("{}")); err == nil {
		t.Error("an object is a list")
	}
}

// FuzzSplit: what is split and put together again has the value that it had.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"]}\""}],"":null,"\u0061":-1e5}`, `{"a":{"b":{}},"c":[[],[[]]],"d":[1e999]}`, "{\"\xff\":\"\x95\xff\"}", ` { "x" : true , "y" : [ ] } `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := ParseObject(data)
		var want map[string]any
		if err != nil {
			return
		}
		if decode(trimMark(data), &want) != nil {
			t.Fatal("it is not an object")
		}
		var got map[string]any
		if err := decode(o.Append(nil, 2), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: %s", err, o.Append(nil, 2))
		}
		for _, m := range o.Members {
			if list, err := ParseJSONList(m.Raw); err == nil {
				var a, b any
				if decode(AppendJSONList(nil, list, 0), &a) != nil || decode(m.Raw, &b) != nil || !reflect.DeepEqual(a, b) {
					t.Fatalf("%s", m.Raw)
				}
			}
			if s, ok := ParseJSONText(m.Raw); ok {
				var b string
				if json.Unmarshal(m.Raw, &b) != nil || s != b {
					t.Fatalf("%q is %q", m.Raw, s)
				}
			}
		}
	})
}

// decode reads any number that JSON allows, also one that no float holds.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

func trimMark(data []byte) []byte {
	if len(data) > 2 && string(data[:3]) == "\xef\xbb\xbf" {
		return data[3:]
	}
	return data
}
