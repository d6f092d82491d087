package llmtest

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
	"ramet/internal/testkit"
)

// feed answers each request with the same bytes, without a network.
type feed struct{ text string }

func (f *feed) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Body.Close()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(f.text)), Request: r}, nil
}

func options(s Suite, transport http.RoundTripper) wire.Options {
	return wire.Options{Vendor: "vendor", Base: "http://127.0.0.1", Key: Key, HTTP: transport, Model: s.lookup}
}

// Fuzz sends arbitrary bytes as an answer: nothing panics, and there is always
// exactly one terminal event.
func Fuzz(f *testing.F, s Suite) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.sse"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		text := testkit.Must(os.ReadFile(file))(f)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := s.New(options(s, &feed{text}))
		m, _, _, err := collect(t, p, s.request())
		if err != nil && len(m.Calls()) > 0 {
			t.Fatal("an answer that failed has calls")
		}
		// What came can be sent back.
		r := s.request()
		r.Messages = append(r.Messages, m, llm.Say(llm.User, "and?"))
		gather(t, p.Stream(t.Context(), r))
	})
}
