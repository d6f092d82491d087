package llmtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

var update = flag.Bool("update-wire", false, "write testdata/roundtrip.json and foreign.json")

// Tools are the tools of the round trips.
var Tools = []llm.Tool{
	{Name: "read", Description: "Read a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "list", Description: "List <files> & folders.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
}

// roundTrip sends an answer back as part of a history and holds the bytes
// against those that a person has read.
func (s Suite) roundTrip(t *testing.T) {
	thought := s.answer(t, "thinking.sse")
	called := s.answer(t, "tools.sse")
	temperature := 0.5
	r := llm.Request{
		Model: s.Model, Tools: Tools, MaxTokens: 1000, Temperature: &temperature, Effort: llm.High, CacheAfter: []int{0, 6},
		Messages: []llm.Message{
			llm.Say(llm.System, "Be brief."),
			llm.Say(llm.User, "2+2?"),
			thought,
			{Role: llm.User, Parts: []llm.Part{
				{Type: llm.Text, Text: "And this?"},
				{Type: llm.Image, MediaType: "image/png", Data: []byte("png")},
			}},
			called,
			{Role: llm.ToolRole, Parts: []llm.Part{llm.Result(called.Calls()[0], "no such file", true)}},
			{Role: llm.ToolRole, Parts: []llm.Part{llm.Result(called.Calls()[1], "b.txt", false)}},
			llm.Say(llm.User, "Go on."),
			llm.Say(llm.System, "Hurry."),
		},
	}
	s.golden(t, "roundtrip.json", r)

	// What a tool shows stands behind its result, and a document beside what is said.
	look := llm.NewCall("call_look", "read", `{"path":"a.png"}`)
	s.golden(t, "shown.json", llm.Request{Model: s.Model, Tools: Tools, Messages: []llm.Message{
		{Role: llm.User, Parts: []llm.Part{
			{Type: llm.Text, Text: "Read both."},
			{Type: llm.Document, Name: "a.pdf", MediaType: "application/pdf", Data: []byte("%PDF-")},
		}},
		{Role: llm.Assistant, Parts: []llm.Part{look}},
		{Role: llm.ToolRole, Parts: []llm.Part{
			llm.Result(look, "a.png: PNG, 2×2 pixels", false),
			{Type: llm.Text, Text: "a.png:"},
			{Type: llm.Image, Name: "a.png", MediaType: "image/png", Data: []byte("png")},
		}},
	}})

	// A history that began elsewhere: foreign thinking is left out, foreign ids
	// and calls are taken.
	call := llm.NewCall("functions.read:0", "read", `{"path":"a"}`)
	call.Signature, call.Origin = "foreign-signature", "elsewhere"
	empty := llm.NewCall("call_bad", "list", `{"cut`)
	s.golden(t, "foreign.json", llm.Request{Model: s.Model, Messages: []llm.Message{
		llm.Say(llm.User, "Hi"),
		{Role: llm.Assistant, Parts: []llm.Part{
			{Type: llm.Thinking, Text: "secret", Signature: "foreign-signature", Origin: "elsewhere"},
			{Type: llm.Thinking, Opaque: json.RawMessage(`{"foreign":1}`), Origin: "elsewhere"},
			{Type: llm.Text, Text: ""},
			call, empty,
		}},
		{Role: llm.ToolRole, Parts: []llm.Part{llm.Result(call, "", false), llm.Result(empty, "bad arguments", true)}},
		{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Thinking, Text: "only this", Origin: "elsewhere"}}},
		llm.Say(llm.User, "Go on."),
	}})
}

func (s Suite) answer(t *testing.T, file string) llm.Message {
	t.Helper()
	m, _, _, err := collect(t, s.server(t, play(read(t, file))), s.request())
	testkit.OK(t, err)
	return m
}

func (s Suite) golden(t *testing.T, file string, r llm.Request) {
	t.Helper()
	var body []byte
	p := s.server(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ = io.ReadAll(req.Body)
		play(read(t, "text.sse"))(w, req)
	})
	before := testkit.Must(json.Marshal(r))(t)
	if _, _, _, err := collect(t, p, r); err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(r); !bytes.Equal(before, after) {
		t.Error("the request was changed")
	}
	var got bytes.Buffer
	if err := json.Indent(&got, body, "", "  "); err != nil {
		t.Fatalf("sent %s: %v", body, err)
	}
	got.WriteByte('\n')
	path := filepath.Join("testdata", file)
	if *update {
		testkit.OK(t, os.WriteFile(path, got.Bytes(), 0o644))
	}
	if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s (%v): sent\n%s", file, err, got.Bytes())
	}
}
