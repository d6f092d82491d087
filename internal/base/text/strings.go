package text

import (
	"bytes"
	"encoding/json"
)

// Strings applies f to every text in a JSON value, names of members included. Where f
// changes nothing, and where raw is no JSON, the bytes come back as they were.
func Strings(raw []byte, f func(string) string) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	changed := false
	v = applyToStrings(v, func(s string) string {
		out := f(s)
		changed = changed || out != s
		return out
	})
	if !changed {
		return raw
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return raw
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// applyToStrings applies f to every text in a decoded value.
func applyToStrings(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = applyToStrings(v[i], f)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, one := range v {
			out[f(name)] = applyToStrings(one, f)
		}
		return out
	}
	return v
}
