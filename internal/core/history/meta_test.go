package history_test

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/core/history"
)

func TestMetaIsEncodedAsEncodingJSONDoes(t *testing.T) {
	metas := rapid.Make[history.Meta]()
	rapid.Check(t, func(t *rapid.T) {
		m := metas.Draw(t, "meta")
		v := reflect.ValueOf(&m).Elem()
		for i := range v.NumField() { // most entries say one thing, or none
			if rapid.Bool().Draw(t, "left out") {
				v.Field(i).SetZero()
			}
		}
		want, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Encode(); err != nil || string(got) != string(want) {
			t.Errorf("%s, %v\nnot %s", got, err, want)
		}
	})
}

// What Encode relies on: a name of its own for each field, which is left out where it is empty.
func TestEveryFieldOfMetaHasANameAndMayBeLeftOut(t *testing.T) {
	m := reflect.TypeFor[history.Meta]()
	for i := range m.NumField() {
		f := m.Field(i)
		if name := f.Tag.Get("json"); f.Anonymous || !f.IsExported() || len(name) < len("x,omitempty") || name[len(name)-len(",omitempty"):] != ",omitempty" {
			t.Errorf("%s: %q", f.Name, name)
		}
		if k := f.Type.Kind(); k != reflect.String && k != reflect.Slice && k != reflect.Pointer {
			t.Errorf("%s: what is empty of a %s?", f.Name, k)
		}
	}
}

// What the reader of meta relies on: every field at any depth is of a kind that it knows, has a name,
// and reads itself in no way of its own.
func TestMetaIsPlain(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		for _, own := range []reflect.Type{reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()} {
			if typ.Implements(own) || reflect.PointerTo(typ).Implements(own) {
				t.Errorf("%s reads itself", typ)
			}
		}
		switch typ.Kind() {
		case reflect.String, reflect.Int, reflect.Int64, reflect.Bool:
		case reflect.Slice, reflect.Pointer:
			if typ.Elem().Kind() == reflect.Uint8 {
				t.Errorf("%s is written in another way", typ)
			}
			look(typ.Elem())
		case reflect.Struct:
			if seen[typ] {
				return
			}
			if seen[typ] = true; typ.NumField() > 64 {
				t.Errorf("%s has more fields than there are bits", typ)
			}
			for i := range typ.NumField() {
				f := typ.Field(i)
				name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name == "" || name == "-" || f.Anonymous || !f.IsExported() || options != "" && options != "omitempty" && options != "omitzero" {
					t.Errorf("%s.%s: %q", typ, f.Name, f.Tag)
				}
				look(f.Type)
			}
		default:
			t.Errorf("%s", typ)
		}
	}
	look(reflect.TypeFor[history.Meta]())
}

// sameMeta holds what Decode says against encoding/json.
func sameMeta(t interface {
	Helper()
	Fatalf(string, ...any)
}, data []byte) {
	t.Helper()
	got, gotErr := history.Entry{Meta: data}.Decode()
	var want history.Meta
	wantErr := json.Unmarshal(data, &want)
	if !reflect.DeepEqual(got, want) || (gotErr == nil) != (wantErr == nil) || wantErr != nil && !strings.Contains(gotErr.Error(), wantErr.Error()) {
		t.Fatalf("%q: %+v, %v\nnot %+v, %v", data, got, gotErr, want, wantErr)
	}
}

func TestMetaIsReadAsEncodingJSONDoes(t *testing.T) {
	for _, data := range []string{``, `{}`, ` {}`, `{} `, `{}}`, `null`, `[]`, `{"cwd":"/a"}`, `{"Cwd":"/a"}`, `{"cwd":"/a","cwd":"/b"}`, `{"cwd":"a\u0041"}`, "{\"cwd\":\"\xff\"}", "{\"cwd\":\"\n\"}", `{"cwd":null}`, `{"cwd":1}`,
		`{"name":""}`, `{"name":null}`, `{"children":[]}`, `{"children":["a","b"]}`, `{"children":["a",]}`, `{"children":[,]}`, `{"children":null}`, `{"keep":[1]}`, `{"call":{"input":1,"output":-1,"priced":true}}`, `{"call":{"input":01}}`, `{"call":{"input":-0}}`, `{"call":{"input":1.0}}`, `{"call":{"input":9223372036854775808}}`,
		`{"call":{"input":}}`, `{"call":{"priced":tru}}`, `{"call":{}}`, `{"call":null}`, `{"call":{"input":1},"call":{"output":2}}`, `{"actor":{"who":"a","face":"cli"}}`, `{"actor":{"who":"a"`, `{"other":1}`, `{"budget":{"tokens":5}}`, `{"cwd":"a"},`, `{"cwd"}`, `{cwd:1}`, `{"cwd":"a",}`, `{,}`} {
		sameMeta(t, []byte(data))
	}
	metas := rapid.Make[history.Meta]()
	rapid.Check(t, func(t *rapid.T) {
		m := metas.Draw(t, "meta")
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		sameMeta(t, data)
		if at := rapid.IntRange(0, len(data)-1).Draw(t, "at"); len(data) > 0 { // and something wrong
			sameMeta(t, append(append(slices.Clone(data[:at]), rapid.SampledFrom([]byte(`{}[],:"\0-9at `)).Draw(t, "what")), data[at+rapid.IntRange(0, 1).Draw(t, "instead"):]...))
		}
	})
}

func FuzzMeta(f *testing.F) {
	f.Add([]byte(`{"actor":{"face":"cli","who":"root"},"command":"model","model":"bench","provider":"anthropic"}`))
	f.Add([]byte(`{"call":{"attempts":1,"cache_read":0,"first_ms":2,"model":"a/b","outcome":"stop","priced":false}}`))
	f.Add([]byte(`{"children":["a","b"],"files":{},"name":""}`))
	f.Fuzz(func(t *testing.T, data []byte) { sameMeta(t, data) })
}

func BenchmarkMeta(b *testing.B) {
	for name, data := range map[string]string{"empty": `{}`, "actor": `{"actor":{"face":"cli","who":"root"}}`,
		"call": `{"call":{"attempts":1,"cache_read":0,"cache_write":0,"cost_nano_usd":0,"first_ms":5,"input":10,"model":"anthropic/bench","outcome":"stop","output":5,"priced":false,"reasoning":0,"request":"b9d65f5a5b3d7de3f9a4ba1113988f7d75fbc6e6ca8dcfc5342d0318402cf2a6","took_ms":5}}`} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := (history.Entry{Meta: []byte(data)}).Decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+", encoding/json", func(b *testing.B) {
			for b.Loop() {
				var m history.Meta
				if err := json.Unmarshal([]byte(data), &m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
