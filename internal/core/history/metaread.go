package history

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// readMeta reads meta as encoding/json does. That one looks through everything that could be said
// before the first time, which takes a small command longer than what there is to read: what is
// written plainly, as all of ours is, is read here, with a look at the fields that are there only.
// Of anything else encoding/json says what it is.
func readMeta(data []byte) (m Meta, err error) {
	if r := (plain{data}); r.object(reflect.ValueOf(&m).Elem()) && len(r.rest) == 0 {
		return m, nil
	}
	m = Meta{}
	err = json.Unmarshal(data, &m)
	return m, err
}

// plain reads JSON without spaces and escapes, whose objects have known names, each once. Its functions
// say whether they have read what they were asked for; if not, nothing is said of what it is.
type plain struct{ rest []byte }

func (r *plain) sign(c byte) bool {
	if len(r.rest) == 0 || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// value reads what a field may be: a test knows that meta has no other ones.
func (r *plain) value(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		text, ok := r.text()
		v.SetString(string(text))
		return ok
	case reflect.Int, reflect.Int64:
		n, ok := r.number()
		v.SetInt(n)
		return ok && !v.OverflowInt(n)
	case reflect.Bool:
		return r.word("false") || r.word("true") && set(v)
	case reflect.Pointer:
		to := reflect.New(v.Type().Elem())
		v.Set(to)
		return r.value(to.Elem())
	case reflect.Slice:
		return r.list(v)
	case reflect.Struct:
		return r.object(v)
	}
	return false
}

func set(v reflect.Value) bool {
	v.SetBool(true)
	return true
}

func (r *plain) word(w string) bool {
	if !bytes.HasPrefix(r.rest, []byte(w)) {
		return false
	}
	r.rest = r.rest[len(w):]
	return true
}

func (r *plain) object(v reflect.Value) bool {
	if !r.sign('{') {
		return false
	}
	if r.sign('}') {
		return true
	}
	names := fieldNames(v.Type())
	for seen := uint64(0); ; {
		key, ok := r.text()
		if !ok || !r.sign(':') {
			return false
		}
		i := 0
		for i < len(names) && names[i] != string(key) {
			i++
		}
		if i == len(names) || seen&(1<<i) != 0 || !r.value(v.Field(i)) {
			return false
		}
		seen |= 1 << i
		if !r.sign(',') {
			return r.sign('}')
		}
	}
}

func (r *plain) list(v reflect.Value) bool {
	if !r.sign('[') {
		return false
	}
	out := reflect.MakeSlice(v.Type(), 0, 0)
	for !r.sign(']') {
		if out.Len() > 0 && !r.sign(',') {
			return false
		}
		one := reflect.New(v.Type().Elem()).Elem()
		if !r.value(one) {
			return false
		}
		out = reflect.Append(out, one)
	}
	v.Set(out)
	return true
}

// text is a string that is written as it is.
func (r *plain) text() ([]byte, bool) {
	if !r.sign('"') {
		return nil, false
	}
	end := bytes.IndexByte(r.rest, '"')
	if end < 0 {
		return nil, false
	}
	out := r.rest[:end]
	r.rest = r.rest[end+1:]
	for _, c := range out {
		if c < ' ' || c == '\\' {
			return nil, false
		}
	}
	return out, utf8.Valid(out)
}

func (r *plain) number() (int64, bool) {
	n := 0
	for n < len(r.rest) && (r.rest[n] == '-' || '0' <= r.rest[n] && r.rest[n] <= '9') {
		n++
	}
	word := string(r.rest[:n])
	out, err := strconv.ParseInt(word, 10, 64)
	if err != nil || word != strconv.FormatInt(out, 10) { // 01, -0
		return 0, false
	}
	r.rest = r.rest[n:]
	return out, true
}

// names are those of the fields of each struct that was asked for.
var names sync.Map // of reflect.Type to []string

func fieldNames(t reflect.Type) []string {
	if known, ok := names.Load(t); ok {
		return known.([]string)
	}
	out := make([]string, t.NumField())
	for i := range out {
		out[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	names.Store(t, out)
	return out
}
