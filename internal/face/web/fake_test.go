package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/testkit"
)

// fake is a server with the API that the page uses (docs/http.md), on loopback, over
// made-up content, much of it hostile. What the page does to it can be asked for under
// /_test/.
type fake struct {
	mu     sync.Mutex
	agents []map[string]any
	talks  map[string][]map[string]any
	asks   []map[string]any
	logs   map[string][]map[string]any
	tree   map[string]any
	drawn  []byte // the tree as it is sent
	runs   []map[string]any
	events []string // data of the SSE events; the id of one is its place, from 1
	more   chan struct{}
	cut    chan struct{}
	seen   []string // what was asked of us that matters
	last   int      // the newest message id
	refuse bool     // the next cursor of the stream
	// accepted: what lies in the project is as it was accepted.
	accepted bool
	standing map[string]string // of runs, if they do not run
	mode     string            // of the program that drives an agent
}

type kind int

const (
	ordinary kind = iota
	big
	full
	empty
	closed
)

func newFake(t *testing.T, k kind) (url string) {
	t.Helper()
	f := &fake{mode: "default", talks: map[string][]map[string]any{}, logs: map[string][]map[string]any{}, standing: map[string]string{}, more: make(chan struct{}), cut: make(chan struct{})}
	switch k {
	case ordinary:
		f.fill()
	case big:
		f.fillBig(10_000)
	case full:
		f.fillFull()
	}
	page, api := Handler(), delayed(t, f.routes())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/_test/"), k != closed && strings.HasPrefix(r.URL.Path, "/api/"):
			api.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, "/api/"):
			refuse(w, http.StatusUnauthorized, "DENIED", "not signed in")
		default:
			page.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		f.hangUp()
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// delayed holds each answer of the API back, for up to as long as RAMET_WEB_LATE says (300ms): events overtake
// answers, and answers each other, as on a busy machine. It is how to look for what takes an order for granted.
func delayed(t *testing.T, api http.Handler) http.Handler {
	most := testkit.Must(time.ParseDuration(cmp.Or(os.Getenv("RAMET_WEB_LATE"), "0s")))(t)
	if most == 0 {
		return api
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/events" || !strings.HasPrefix(r.URL.Path, "/api/") {
			api.ServeHTTP(w, r)
			return
		}
		said := httptest.NewRecorder()
		api.ServeHTTP(said, r)
		time.Sleep(rand.N(most))
		maps.Copy(w.Header(), said.Header())
		w.WriteHeader(said.Code)
		w.Write(said.Body.Bytes())
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]any{"code": code, "message": message, "details": []any{}})
}

// hangUp ends all streams.
func (f *fake) hangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.cut)
	f.cut = make(chan struct{})
}

// tell is called with the lock held.
func (f *fake) tell(lines ...map[string]any) {
	for _, l := range lines {
		data, err := json.Marshal(l)
		if err != nil {
			panic(err)
		}
		f.events = append(f.events, string(data))
	}
	close(f.more)
	f.more = make(chan struct{})
}

func (f *fake) find(ref string) map[string]any {
	for _, a := range f.agents {
		if a["uuid"] == ref {
			return a
		}
	}
	return nil
}

// below lists the living of a subtree.
func (f *fake) below(ref string) []map[string]any {
	var out []map[string]any
	in := map[any]bool{ref: true}
	for _, a := range f.agents { // parents stand before children
		if in[a["uuid"]] || in[a["parent_uuid"]] {
			in[a["uuid"]] = true
			if a["status"] != "dead" {
				out = append(out, a)
			}
		}
	}
	return out
}

func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	at := 0
	cursor := r.URL.Query().Get("cursor")
	f.mu.Lock()
	at = len(f.events)
	cut := f.cut
	f.seen = append(f.seen, "events cursor="+cursor+" last="+r.Header.Get("Last-Event-ID"))
	if cursor != "" && f.refuse {
		f.refuse = false
		f.mu.Unlock()
		refuse(w, http.StatusGone, "NOT_FOUND", "that cursor is too old")
		return
	}
	if cursor != "" {
		at, _ = strconv.Atoi(cursor)
	}
	f.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, ": alive\nid: %d\n\n", at)
	for {
		f.mu.Lock()
		news, more := slices.Clone(f.events[min(at, len(f.events)):]), f.more
		f.mu.Unlock()
		for _, data := range news {
			at++
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", at, data)
		}
		w.(http.Flusher).Flush()
		select {
		case <-more:
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}
