package history

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Encode writes what is said, as encoding/json does it. That one looks through everything that could be
// said before the first time, which takes a small command longer than what it has to say: here only the
// fields that are there are looked at.
func (m *Meta) Encode() ([]byte, error) {
	v, out := reflect.ValueOf(m).Elem(), []byte{'{'} // each name is left out where it is empty
	for i, name := range fieldNames(v.Type()) {
		field := v.Field(i)
		if field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0 {
			continue
		}
		value, err := json.Marshal(field.Interface())
		if err != nil {
			return nil, fmt.Errorf("encode meta: %w", err)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), name...), `":`...)
		out = append(out, value...)
	}
	return append(out, '}'), nil
}
