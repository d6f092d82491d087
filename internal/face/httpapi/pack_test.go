package httpapi

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestLongAnswersArePackedForWhoCanUnpackThem(t *testing.T) {
	long, short := strings.Repeat(`{"uuid": "x"}`, 5000), "{}"
	for _, c := range []struct {
		accept, body string
		packed       bool
	}{
		{"gzip", long, true},
		{"br, gzip;q=0.5", long, true},
		{"gzip", short, false},
		{"", long, false},
		{"br", long, false},
		{"gzip;q=0", long, false},
		{"gzip;q=0.0", long, false},
		{"xgzip", long, false},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		if c.accept != "" {
			r.Header.Set("Accept-Encoding", c.accept)
		}
		body := pack(w, r, []byte(c.body))
		packed := w.Header().Get("Content-Encoding") == "gzip"
		if packed != c.packed || len(c.body) >= packedFrom && w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q, %d bytes: %v", c.accept, len(c.body), w.Header())
		}
		if packed {
			z, err := gzip.NewReader(strings.NewReader(string(body)))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		if string(body) != c.body {
			t.Errorf("%q: another body", c.accept)
		}
	}
}
