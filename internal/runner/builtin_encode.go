package runner

import (
	"bytes"
	"encoding/json"

	"ramet/internal/base/fault"
)

// encodeBuiltin returns the bytes of one of the files: sorted keys, two spaces, a line feed.
func encodeBuiltin(v any) ([]byte, error) {
	data, err := encodePayload(v)
	var out bytes.Buffer
	if err == nil {
		err = json.Indent(&out, data, "", "  ")
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "encode %T: %w", v, err)
	}
	out.WriteByte('\n')
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
