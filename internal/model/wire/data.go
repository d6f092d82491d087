package wire

import (
	"encoding/base64"

	"ramet/internal/model/llm"
)

// DataURL returns an image or a document as an address that holds it.
func DataURL(p llm.Part) string {
	return "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// FileName returns what a document is called: some servers tell by the ending what it is.
func FileName(p llm.Part) string {
	if p.Name != "" {
		return p.Name
	}
	return "document.pdf"
}
