package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramet/internal/core/history"
	"ramet/internal/model/catalog"
	"ramet/internal/testkit"
)

// told is a conversation with everything that the program has a place for.
func told(own catalog.Protocol) []Said {
	call := func(id, name, args string) history.Part {
		return history.Part{Type: history.ToolCall, CallID: id, Name: name, Args: json.RawMessage(args), Origin: string(own)}
	}
	thought := history.Part{Type: history.Thinking, Text: "hm", Origin: string(own)}
	if own == catalog.Anthropic {
		thought.Signature = "SIG"
	} else {
		thought.Opaque = json.RawMessage(`{"encrypted_content":"E","id":"rs","summary":[{"text":"hm","type":"summary_text"}],"type":"reasoning"}`)
	}
	text := func(s string) history.Part { return history.Part{Type: history.Text, Text: s} }
	return []Said{
		{Kind: history.User, Parts: []history.Part{text("look <b>&</b> \u2028"), {Type: history.Image, MediaType: "image/png", Data: []byte("png")}}},
		{Kind: history.Assistant, Parts: []history.Part{thought, text("I look"), call("c1", "Read", `{"path":"a"}`), call("c2", "apply_patch", `{"input":"*** Begin"}`)}},
		{Kind: history.ToolResult, Parts: []history.Part{{Type: history.Result, CallID: "c1", Text: "one\ntwo"}}},
		{Kind: history.ToolResult, Parts: []history.Part{{Type: history.Result, CallID: "c2", Text: "see"}, {Type: history.Image, MediaType: "image/png", Data: []byte("shot")}}},
		{Kind: history.Assistant, Parts: []history.Part{text("done")}},
		{Kind: history.User, Parts: []history.Part{text("again")}},
	}
}

// plainly is what is to be the same after a way there and back.
func plainly(list []Said) string {
	var out []string
	for _, s := range list {
		for _, p := range s.Parts {
			if p.Type == history.Result {
				p.Name, p.IsError = "", false
			}
			if p.Type == history.Text || p.Type == history.ToolCall {
				p.Origin = "" // who reads what nobody signed
			}
			one, err := json.Marshal(p)
			if err != nil {
				return err.Error()
			}
			out = append(out, string(s.Kind)+" "+string(one))
		}
	}
	return strings.Join(out, "\n")
}

// back reads a session from its first line to its last.
func back(t *testing.T, s *Source) []Said {
	t.Helper()
	var out []Said
	nodes := s.Roots()
	for len(nodes) > 0 {
		if len(nodes) > 1 {
			t.Errorf("it has branches: %s", drawn(t, nodes))
		}
		for _, i := range nodes[0].Items() {
			one := testkit.Must(i.Read())(t)
			out = append(out, one)
		}
		nodes = nodes[0].Kids()
	}
	return out
}

func TestThereAndBack(t *testing.T) {
	for program, own := range map[string]catalog.Protocol{Claude: catalog.Anthropic, Codex: catalog.Responses, Pi: catalog.Anthropic} {
		var out bytes.Buffer
		at := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
		w := testkit.Must(NewWriter(program, Session{Cwd: "/home/me/x.y", Model: "anthropic/claude-x", Started: at}, &out))(t)
		want := told(own)
		for i, m := range want {
			testkit.OK(t, w.Add(m.Kind, m.Parts, at.Add(time.Duration(i)*time.Second)))
		}
		testkit.OK(t, w.Close())
		home := t.TempDir()
		path, command := w.Place(func(name string) string { return map[string]string{"HOME": home}[name] })
		if !strings.Contains(command, w.ID) || !strings.Contains(path, w.ID) {
			t.Errorf("%s: %s, %s", program, path, command)
		}
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testkit.OK(t, os.WriteFile(path, out.Bytes(), 0o600))
		found, err := Find(t.Context(), program, func(name string) string { return map[string]string{"HOME": home}[name] })
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: it is not found where the program looks: %v %v", program, found, err)
		}
		s := open(t, path)
		if s.Program != program || s.ID != w.ID || s.Cwd != "/home/me/x.y" || !s.Started.Equal(at) {
			t.Errorf("%s: %+v", program, s.Session)
		}
		whole(t, s)
		if got, want := plainly(back(t, s)), plainly(want); got != want {
			t.Errorf("%s:\n got %s\nwant %s", program, got, want)
		}
	}
}

// What was signed for another vendor does not go along; a call that nobody answered is closed.
func TestWhatDoesNotGoThere(t *testing.T) {
	for _, program := range Writes() {
		var out bytes.Buffer
		w := testkit.Must(NewWriter(program, Session{Cwd: "/x", Started: time.Unix(1, 0)}, &out))(t)
		other := history.Part{Type: history.Thinking, Text: "secret thought", Signature: "SIGNED", Origin: string(catalog.Gemini), Opaque: json.RawMessage(`"OPAQUE"`)}
		w.Add(history.User, []history.Part{{Type: history.Text, Text: "go"}, {Type: history.Facts, Text: "the moment"}}, time.Unix(2, 0))
		w.Add(history.Assistant, []history.Part{other, {Type: history.ToolCall, CallID: "c", Name: "bash", Malformed: "{"}}, time.Unix(3, 0))
		testkit.OK(t, w.Close())
		said := out.String()
		if program != Pi && strings.Contains(said, "SIGNED") || strings.Contains(said, "OPAQUE") && program != Pi || strings.Contains(said, "the moment") {
			t.Errorf("%s: %s", program, said)
		}
		if !strings.Contains(said, "the call was interrupted") {
			t.Errorf("%s: the call is open", program)
		}
		for i, line := range strings.Split(strings.TrimSpace(said), "\n") {
			if !json.Valid([]byte(line)) {
				t.Error(fmt.Sprint(program, " line ", i, ": ", line))
			}
		}
	}
	if _, err := NewWriter(Opencode, Session{}, &bytes.Buffer{}); err == nil {
		t.Error("opencode's database is not ours to write")
	}
}
