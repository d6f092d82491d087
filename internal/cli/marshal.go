package cli

import (
	"bytes"
	"encoding/json"
)

// marshal is json.Marshal without HTML escapes: our readers are programs and
// terminals, not pages.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
