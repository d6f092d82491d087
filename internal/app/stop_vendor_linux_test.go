package app_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// vendor is a model behind a socket that speaks, or thinks, until nobody listens, and
// notices when that is. What it is asked for stands in the newest prompt: "phase=streaming".
type vendor struct {
	*httptest.Server
	command string // what its bash call runs
	risky   string // what its bash call asks for

	mu         sync.Mutex
	summarised bool        // a summary was asked for: of the next there is an end
	reading    int         // streams without an end that somebody reads
	left       []time.Time // when somebody stopped reading one
}

func newVendor(t *testing.T, command, risky string) *vendor {
	v := &vendor{command: command, risky: risky}
	v.Server = httptest.NewServer(http.HandlerFunc(v.serve))
	t.Cleanup(v.Server.CloseClientConnections)
	t.Cleanup(v.Server.Close)
	return v
}

// env lets ramet ask it.
func (v *vendor) env() []string {
	return []string{"ANTHROPIC_BASE_URL=" + v.URL, "ANTHROPIC_API_KEY=sk-test-stop", "RAMET_MODEL=anthropic/claude-sonnet-4-6",
		"RAMET_CONTEXT=20000", "RAMET_PERMISSION=ask", "RAMET_ALLOW=bash(" + v.command + ")"}
}

func (v *vendor) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !strings.HasSuffix(r.URL.Path, "/messages") {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	phase := phaseOf(body)
	acts := bytes.Count(body[bytes.LastIndex(body, []byte("phase="))+1:], []byte(`"type":"tool_result"`))
	acted := acts > 0
	switch {
	case bytes.Contains(body, []byte("Summarise the conversation above")) && !v.first():
		v.say(w, 10, &reply{parts: []said{{kind: "say", pieces: []string{"in short"}}}})
	case bytes.Contains(body, []byte("Summarise the conversation above")), phase == "streaming":
		v.endless(w, r, `{"type":"text","text":""}`, "text_delta", "text")
	case phase == "thinking":
		v.endless(w, r, `{"type":"thinking","thinking":"","signature":""}`, "thinking_delta", "thinking")
	case phase == "compacting" && acts < 2:
		// It says so much that the context is full, and the next request is for a summary.
		long := strings.Repeat("it says a lot of things ", 2500)
		v.say(w, len(body)/4, &reply{parts: []said{{kind: "say", pieces: []string{long}},
			{kind: "call", id: fmt.Sprintf("call_%d", time.Now().UnixNano()), name: "ps", text: `{}`}}})
	case acted || phase == "":
		v.say(w, 10, &reply{parts: []said{{kind: "say", pieces: []string{"very well"}}}})
	case phase == "tool":
		v.call(w, 10, "bash", fmt.Sprintf(`{"command":%q}`, v.command))
	case phase == "permission":
		v.call(w, 10, "bash", fmt.Sprintf(`{"command":%q}`, v.risky))
	case phase == "mail":
		v.call(w, 10, "wait", `{"timeout":3000,"agents":["user"]}`)
	}
}

// first says whether this is the first summary that is asked for.
func (v *vendor) first() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	was := v.summarised
	v.summarised = true
	return !was
}

// phaseOf is what the newest prompt wants.
func phaseOf(body []byte) string {
	i := bytes.LastIndex(body, []byte("phase="))
	if i < 0 {
		return ""
	}
	rest := string(body[i+6:])
	return rest[:strings.IndexAny(rest+`"`, `" .\`)]
}

func (v *vendor) call(w io.Writer, tokens int, name, args string) {
	v.say(w, tokens, &reply{parts: []said{{kind: "call", id: fmt.Sprintf("call_%d", time.Now().UnixNano()), name: name, text: args}}})
}

func (v *vendor) say(w io.Writer, tokens int, r *reply) {
	r.in, r.out = tokens, 5
	writeAnthropic(w, r)
}

// endless writes until nobody reads.
func (v *vendor) endless(w http.ResponseWriter, r *http.Request, block, kind, field string) {
	v.mu.Lock()
	v.reading++
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		v.reading--
		v.left = append(v.left, time.Now())
		v.mu.Unlock()
	}()
	flush := http.NewResponseController(w)
	io.WriteString(w, anthropicEvents("", &reply{in: 10})[0])
	io.WriteString(w, named("content_block_start", `{"type":"content_block_start","index":0,"content_block":%s}`, block))
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		_, err := io.WriteString(w, named("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"%s","%s":"word %d "}}`, kind, field, n))
		if err != nil || flush.Flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// quiet says whether nobody reads anything, and when the last one stopped.
func (v *vendor) quiet() (bool, time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.left) == 0 {
		return v.reading == 0, time.Time{}
	}
	return v.reading == 0, v.left[len(v.left)-1]
}
