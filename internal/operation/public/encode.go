package public

import (
	"encoding/json"
	"io"

	"ramet/internal/base/printer"
)

// Encoder writes JSON as it is, without HTML escapes: entries keep their bytes, and our
// readers are programs and terminals, not pages.
func Encoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// Marshal is json.Marshal without HTML escapes.
func Marshal(v any) ([]byte, error) {
	return printer.Marshal(v)
}
