package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// faults are what goes wrong between ramet and the model.
type faults struct {
	cut    int // this request's answer is cut in its middle; the first is 1
	busy   int // so many requests are answered with 429
	window int // bytes of a request that are taken; 0: any
}

// server stands for a vendor: it spoils what its task says, and lets a scripted model, or the
// real one behind it, answer the rest.
type server struct {
	faults
	next http.Handler

	mu       sync.Mutex
	requests int
	refused  int // because of their size
	did      []string
	bodies   [][]byte // that were answered
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		s.next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	s.mu.Lock()
	s.requests++
	n := s.requests
	busy := n <= s.busy
	large := s.window > 0 && len(body) > s.window
	if large {
		s.refused++
	}
	if !busy && !large {
		s.bodies = append(s.bodies, body)
	}
	s.mu.Unlock()
	switch {
	case busy:
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, `{"error":{"type":"rate_limit_error","message":"too many requests"}}`)
	case large:
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"This model's maximum context length is exceeded: prompt is too long"}}`)
	case n == s.cut:
		s.next.ServeHTTP(&cutting{ResponseWriter: w, left: 200}, r)
		panic(http.ErrAbortHandler) // the connection ends
	default:
		s.next.ServeHTTP(w, r)
	}
}

// cutting lets the beginning of an answer pass.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	c.ResponseWriter.Write(p[:n])
	c.Flush()
	return len(p), nil
}

func (c *cutting) Flush() {
	if f, ok := c.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// serve starts the server of a task; behind is the real vendor, nil: the moves are played.
func serve(t *testing.T, one tasksTask, behind *url.URL) (*server, string) {
	t.Helper()
	s := &server{faults: one.faults}
	if behind != nil {
		s.next = &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind) }}
	} else {
		s.next = &player{server: s, moves: one.play, used: make([]bool, len(one.play))}
	}
	at := httptest.NewServer(s)
	t.Cleanup(func() { at.CloseClientConnections(); at.Close() })
	return s, at.URL
}

// player is a scripted model that speaks Chat Completions.
type player struct {
	*server
	moves []move

	playing sync.Mutex
	used    []bool
	calls   int
}

func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "application/json")
		limit := 200_000
		if p.window > 0 {
			limit = p.window / 4
		}
		fmt.Fprintf(w, `{"object":"list","data":[{"id":"player","object":"model","max_model_len":%d}]}`, limit)
		return
	}
	var asked struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &asked) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	fresh := ""
	for i := len(asked.Messages) - 1; i >= 0 && asked.Messages[i].Role != "assistant"; i-- {
		text, _ := json.Marshal(asked.Messages[i].Content)
		fresh = string(text) + "\n" + fresh
	}
	one, ids, ok := p.take(fresh)
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"no move fits"}}`)
		p.note("no move fits: " + fresh[max(0, len(fresh)-500):])
		return
	}
	if one.hang {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(v string) { fmt.Fprintf(w, "data: %s\n\n", v) }
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	if one.say != "" {
		half := len(one.say) / 2
		for _, piece := range []string{one.say[:half], one.say[half:]} {
			event(`{"choices":[{"index":0,"delta":{"role":"assistant","content":` + quote(piece) + `}}]}`)
		}
	}
	for i, c := range one.calls {
		event(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}}]}`,
			i, quote(ids[i]), quote(c.name), quote(c.json())))
	}
	reason := "stop"
	if len(one.calls) > 0 {
		reason = "tool_calls"
	}
	event(`{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`)
	event(fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":10,"total_tokens":%d}}`, len(body)/4, len(body)/4+10))
	io.WriteString(w, "data: [DONE]\n\n")
}

// take is the first move that fits and was not used up.
func (p *player) take(fresh string) (move, []string, bool) {
	p.playing.Lock()
	defer p.playing.Unlock()
	for i, m := range p.moves {
		if p.used[i] || !strings.Contains(fresh, m.when) {
			continue
		}
		p.used[i] = !m.repeat
		ids := make([]string, len(m.calls))
		for k := range ids {
			p.calls++
			ids[k] = fmt.Sprintf("call_%d", p.calls)
		}
		return m, ids, true
	}
	return move{}, nil, false
}

func (s *server) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, what)
}

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
