// Package llmtest is the conformance suite of llm.Provider, and has models for tests.
//
// An adapter gives the suite transcripts of its vendor's wire format, all of which tell the same stories, and the suite
// plays them with a real HTTP server on loopback: whole, cut at every byte, broken, stalled, refused, cancelled.
//
// TryLive tries a real model with what an agent does: a loop with a tool, a fork, an image, a cancelled call, a cached
// prompt, structured output, a web search. `make live` does that for each vendor whose key is set, for a few cents.
// Script is a model that says what a file tells it, ScriptGates hold it until a test opens them, and StrictServer is a
// server that enforces a context window.
package llmtest

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
	"ramet/internal/testkit"
)

// Key is the key that adapters are given.
const Key = "sk-test-0123456789abcdef0123456789"

// Suite is one adapter. Its testdata holds, as the vendor would send them:
//
//	text.sse      "Hello, world.", 12 tokens in, 5 out
//	thinking.sse  thinks "Let me see.", signed or encrypted; says "It is 4."; 20 tokens out, Reasoning of them thinking
//	tools.sse     says "I will look."; calls read {"path":"a.txt"} as call_a and list {} as call_b, in parallel
//	cache.sse     "Hi", 10 tokens in, 100 from the cache, WriteCache into it, 2 out
//	length.sse    "Hello", stopped by the limit
//	badargs.sse   calls read with {"path": "a and is stopped by the limit
//	refusal.sse   refuses
//	error.sse     "Hel", then an error event: overloaded
//	errors.json   {"name": {"status", "headers", "body", "code", "again", "after_ms"}, …}
//
// and, written with -update-wire and read by a person, roundtrip.json and foreign.json:
// the bodies of requests with a history.
type Suite struct {
	New        func(wire.Options) llm.Provider
	Model      string
	KeyHeader  string            // the header that carries the key
	KeyPrefix  string            // what stands before it
	Raw        map[string]string // the vendor's words for the reasons of the transcripts
	WriteCache int64             // of cache.sse; 0 where the vendor does not count it
	Reasoning  int64             // of thinking.sse; likewise
	Thinking   bool              // false: its thinking cannot be sent back
	Lookup     llm.Model
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	t.Run("Stories", s.stories)
	t.Run("Headers", s.headers)
	t.Run("CutAtEveryByte", s.cuts)
	t.Run("Refused", s.refused)
	t.Run("Broken", s.broken)
	t.Run("Miscounted", s.miscounted)
	t.Run("Stalled", s.stalled)
	t.Run("Cancelled", s.cancelled)
	t.Run("BrokenOff", s.brokenOff)
	t.Run("RoundTrip", s.roundTrip)
	t.Run("Concurrent", s.concurrent)
}

// server starts a server and gives a provider that asks it.
func (s Suite) server(t *testing.T, h http.HandlerFunc) llm.Provider {
	t.Helper()
	return s.serverWith(t, h, wire.Options{})
}

func (s Suite) serverWith(t *testing.T, h http.HandlerFunc, o wire.Options) llm.Provider {
	t.Helper()
	srv := httptest.NewServer(h)
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.CloseClientConnections()
		srv.Close()
	})
	o.Vendor, o.Base, o.Key, o.HTTP = "vendor", srv.URL, Key, transport
	o.Model = s.lookup
	return s.New(o)
}

func (s Suite) lookup(name string) llm.Model {
	if name == s.Lookup.Name {
		return s.Lookup
	}
	return llm.Model{Name: name}
}

func (s Suite) request() llm.Request {
	return llm.Request{Model: s.Model, Messages: []llm.Message{llm.Say(llm.User, "Hi")}}
}

// play is a handler that sends a transcript, event by event.
func play(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, event := range events(text) {
			io.WriteString(w, event)
			w.(http.Flusher).Flush()
		}
	}
}

// events splits a transcript after each empty line, whatever ends a line.
func events(text string) []string {
	end := "\n\n"
	if strings.Contains(text, "\r\n\r\n") {
		end = "\r\n\r\n"
	}
	return strings.SplitAfter(text, end)
}

func read(t testing.TB, name string) string {
	t.Helper()
	text := testkit.Must(os.ReadFile(filepath.Join("testdata", name)))(t)
	return string(text)
}

// gather ranges over a stream and checks what holds for every stream.
func gather(t testing.TB, stream iter.Seq[llm.Event]) []llm.Event {
	t.Helper()
	var all []llm.Event
	for e := range stream {
		if len(all) > 0 && all[len(all)-1].Terminal() {
			t.Fatalf("%s follows a terminal event", e.Type)
		}
		all = append(all, e)
		if strings.Contains(e.Text, Key) || e.Err != nil && strings.Contains(e.Err.Error(), Key) {
			t.Fatalf("the key is in %s: %v", e.Type, e.Err)
		}
	}
	if len(all) == 0 || !all[len(all)-1].Terminal() {
		t.Fatalf("no terminal event: %v", types(all))
	}
	if last := all[len(all)-1]; last.Type == llm.Finished {
		checkDeltas(t, all)
		if last.Finish.Raw == "" || last.Finish.Reason == "" {
			t.Fatalf("finish %+v", last.Finish)
		}
	}
	return all
}

// checkDeltas holds each part against its deltas.
func checkDeltas(t testing.TB, all []llm.Event) {
	t.Helper()
	deltas := map[int]string{}
	lastDone := -1
	for _, e := range all {
		switch e.Type {
		case llm.TextDelta, llm.ThinkingDelta, llm.ToolDelta:
			deltas[e.Index] += e.Text
		case llm.Done:
			want := e.Part.Text
			if e.Part.Type == llm.ToolCall {
				want = string(e.Part.Args)
				if e.Part.Malformed != "" {
					want = e.Part.Malformed
				}
				if want == "{}" && deltas[e.Index] == "" {
					want = ""
				}
				if !json.Valid(e.Part.Args) || e.Part.CallID == "" && e.Part.Name == "" {
					t.Fatalf("a call without id, name or valid arguments: %+v", e.Part)
				}
			}
			if deltas[e.Index] != want {
				t.Fatalf("part %d is %q and its deltas are %q", e.Index, want, deltas[e.Index])
			}
			if e.Index <= lastDone {
				t.Fatalf("part %d is done after part %d", e.Index, lastDone)
			}
			lastDone = e.Index
			delete(deltas, e.Index)
		}
	}
	for i, text := range deltas {
		t.Fatalf("part %d was never done: %q", i, text)
	}
}

func types(all []llm.Event) []llm.EventType {
	var out []llm.EventType
	for _, e := range all {
		out = append(out, e.Type)
	}
	return out
}

func collect(t testing.TB, p llm.Provider, r llm.Request) (llm.Message, llm.Usage, llm.Finish, error) {
	t.Helper()
	return collectContext(t, t.Context(), p, r)
}

func collectContext(t testing.TB, ctx context.Context, p llm.Provider, r llm.Request) (llm.Message, llm.Usage, llm.Finish, error) {
	t.Helper()
	all := gather(t, p.Stream(ctx, r))
	return llm.Collect(slices.Values(all))
}

// soon limits the wait for an event that must happen.
const soon = 20 * time.Second

func within(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(soon):
		t.Fatalf("%s did not happen", what)
	}
}

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

// miscounted tests that a reply with a negative count of tokens is refused.
func (s Suite) miscounted(t *testing.T) {
	for _, number := range []string{"12", "5"} {
		count := regexp.MustCompile(`("[a-z_]*[tT]oken[A-Za-z_]*"\s*:\s*)` + number + `\b`)
		text := read(t, "text.sse")
		wrong := count.ReplaceAllString(text, "${1}-"+number)
		if wrong == text {
			t.Fatalf("text.sse has no count %s", number)
		}
		_, usage, _, err := collect(t, s.server(t, play(wrong)), s.request())
		if !fault.Is(err, fault.ProviderProtocol) || !strings.Contains(err.Error(), "tokens") {
			t.Errorf("-%s tokens: %+v, %v", number, usage, err)
		}
	}
}
