package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// narrator is a model's server on loopback, which speaks Anthropic's protocol and does
// not stop speaking: some lines at once, then a token at a time.
type narrator struct {
	*httptest.Server
	lines int           // at once
	pace  time.Duration // between tokens

	mu    sync.Mutex
	told  int           // tokens since it began, in all streams
	grown chan struct{} // closed when told grows
	quiet chan struct{}
}

func newNarrator(b *testing.B, lines int, pace time.Duration) *narrator {
	b.Helper()
	n := &narrator{lines: lines, pace: pace, grown: make(chan struct{}), quiet: make(chan struct{})}
	n.Server = httptest.NewServer(http.HandlerFunc(n.stream))
	b.Cleanup(n.end)
	return n
}

// env lets ramet use it.
func (n *narrator) env() []string {
	return []string{"RAMET_MODEL=anthropic/bench", "ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=" + n.URL}
}

// end ends all streams in the middle of a word.
func (n *narrator) end() {
	n.mu.Lock()
	select {
	case <-n.quiet:
	default:
		close(n.quiet)
	}
	n.mu.Unlock()
	n.CloseClientConnections()
	n.Close()
}

func (n *narrator) stream(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind, rest string) {
		fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest)
	}
	say := func(text string) {
		quoted, _ := json.Marshal(text) // a string can be encoded
		send("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":`+string(quoted)+`}`)
	}
	send("message_start", `,"message":{"id":"msg_01","type":"message","role":"assistant","model":"bench","content":[],"stop_reason":null,"usage":{"input_tokens":12,"output_tokens":1}}`)
	send("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	for from := 0; from < n.lines; from += 100 {
		say(paragraphs(from, min(100, n.lines-from)))
	}
	w.(http.Flusher).Flush()
	tick := time.NewTicker(n.pace)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-tick.C:
		case <-n.quiet:
			return
		case <-r.Context().Done():
			return
		}
		say(word(i))
		w.(http.Flusher).Flush()
		n.mu.Lock()
		n.told++
		close(n.grown)
		n.grown = make(chan struct{})
		n.mu.Unlock()
	}
}

// word is a token; every tenth ends a paragraph.
func word(i int) string {
	s := fmt.Sprintf("word%d ", i)
	if i%10 == 9 {
		s += "\n\n"
	}
	return s
}

// paragraphs are so many lines of prose, every second of them empty.
func paragraphs(from, lines int) string {
	var out strings.Builder
	for i := from; i < from+lines; i += 2 {
		fmt.Fprintf(&out, "Paragraph %d says that the rows come in order of id, so the test compares `ids`.\n\n", i)
	}
	return out.String()
}

// after waits until so many more tokens were told.
func (n *narrator) after(b *testing.B, tokens int) {
	b.Helper()
	n.mu.Lock()
	want := n.told + tokens
	n.mu.Unlock()
	for {
		n.mu.Lock()
		told, grown := n.told, n.grown
		n.mu.Unlock()
		if told >= want {
			return
		}
		select {
		case <-grown:
		case <-time.After(patience):
			b.Fatal("the model fell silent")
		}
	}
}
