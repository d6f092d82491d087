package httpapi

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
)

// packedFrom is the size from which an answer is worth being packed: a list of ten thousand
// agents is a tenth then. What could be a secret of a few bytes beside something that a
// stranger chose is never that long.
const packedFrom = 16 << 10

// pack packs a body for whoever can unpack it, and says so in the header.
func pack(w http.ResponseWriter, r *http.Request, body []byte) []byte {
	if len(body) < packedFrom {
		return body
	}
	w.Header().Add("Vary", "Accept-Encoding")
	if !accepts(r.Header.Values("Accept-Encoding"), "gzip") {
		return body
	}
	var out bytes.Buffer
	out.Grow(len(body) / 4)
	packer, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err == nil {
		_, err = packer.Write(body)
	}
	if err == nil {
		err = packer.Close()
	}
	if err != nil {
		return body // unreachable: a buffer takes everything
	}
	w.Header().Set("Content-Encoding", "gzip")
	return out.Bytes()
}

// accepts reports whether a coding is listed and not refused (q=0).
func accepts(headers []string, coding string) bool {
	for _, header := range headers {
		for _, one := range strings.Split(header, ",") {
			name, rest, _ := strings.Cut(one, ";")
			if !strings.EqualFold(strings.TrimSpace(name), coding) {
				continue
			}
			q := strings.TrimSpace(rest)
			return !strings.HasPrefix(q, "q=0") || strings.Trim(q, "q=0.") != ""
		}
	}
	return false
}
