package runner

import (
	"bytes"
	"encoding/json"

	"ramet/internal/base/fault"
)

// encodeBuiltin gives the bytes of one of the files: sorted keys, two spaces, a line feed.
func encodeBuiltin(v any) ([]byte, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, fault.New(fault.Failed, "encode %T: %w", v, err)
	}
	// Through a map, so that keys are sorted whatever the order of the fields.
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, fault.New(fault.Failed, "encode %T: %w", v, err)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(tree); err != nil {
		return nil, fault.New(fault.Failed, "encode %T: %w", v, err)
	}
	return out.Bytes(), nil
}

// decodeStrict reads one of the files; a field that is not known is refused.
func decodeStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fault.New(fault.InvalidText, "read %T: %w", into, err)
	}
	if d.More() {
		return fault.New(fault.InvalidText, "read %T: something follows the value", into)
	}
	return nil
}

// encoded is a result of one file.
func (j *builtinAttempt) encoded(name string, v any) (Result, error) {
	data, err := encodeBuiltin(v)
	if err != nil {
		return Result{}, err
	}
	return j.result(map[string][]byte{name: data})
}
