package bench

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// vendor is a model's server on loopback, which speaks Anthropic's protocol and
// answers each request with the same words.
type vendor struct {
	*httptest.Server

	mu    sync.Mutex
	first time.Time     // when the last request began to arrive
	sent  int           // its bytes
	took  time.Duration // what the server needed for all answers so far
}

func newVendor(b *testing.B) *vendor {
	b.Helper()
	answer := must[[]byte](b)(os.ReadFile(filepath.Join("..", "..", "model", "anthropic", "testdata", "text.sse")))
	v := &vendor{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrives := time.Now()
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || r.URL.Path != "/v1/messages" {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		// The request is there: from here to the end it is the server that takes time.
		begin := time.Now()
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(answer)
		w.(http.Flusher).Flush()
		v.mu.Lock()
		defer v.mu.Unlock()
		v.first, v.sent = arrives, int(n)
		v.took += time.Since(begin)
	}))
	b.Cleanup(v.Close)
	return v
}

// read is the size of the last request, and the time of all answers since read was
// called last.
func (v *vendor) read() (sent int, took time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	sent, took = v.sent, v.took
	v.sent, v.took = 0, 0
	return sent, took
}

// heard is when the last request began to arrive.
func (v *vendor) heard() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.first
}
