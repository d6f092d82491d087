package public

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Hide is a line of JSON without secrets. One can seem to begin in one value and to
// end in another; then each value is looked at alone, so that it stays JSON.
func Hide(line string, hide func(string) string) string {
	if out := hide(line); out == line || json.Valid([]byte(out)) {
		return out
	}
	dec := json.NewDecoder(strings.NewReader(line))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return "null" // it is our own line
	}
	var out bytes.Buffer
	if Encoder(&out).Encode(each(v, hide)) != nil {
		return "null"
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// each applies f to every text in a value.
func each(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = each(v[i], f)
		}
	case map[string]any:
		for name := range v {
			v[name] = each(v[name], f)
		}
	}
	return v
}
