package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/model/anthropic"
	"ramet/internal/model/chat"
	"ramet/internal/model/gemini"
	"ramet/internal/model/llm"
	"ramet/internal/model/responses"
	"ramet/internal/model/wire"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
	"ramet/internal/testkit/storetest"
)

const me = id.Agent("me")

// book is a history of one agent in memory.
type book struct {
	*storetest.TreeLog
	next id.Message
}

func newBook() *book {
	b := &book{TreeLog: storetest.NewTreeLog(), next: 1}
	b.Fork("", me, 0)
	return b
}

func (b *book) write(d ...history.Draft) []history.Entry { return b.writeFor(me, d...) }

func (b *book) writeFor(a id.Agent, d ...history.Draft) []history.Entry {
	var out []history.Entry
	for _, one := range d {
		out = append(out, b.Append(a, b.next, one))
		b.next++
	}
	return out
}

func (b *book) redact(m id.Message) history.Entry {
	e, err := b.Entry(context.Background(), m)
	if err != nil {
		panic(err)
	}
	e.Content = nil
	b.Replace(e)
	return b.write(history.Draft{Kind: history.Redact, Meta: history.Meta{Target: m.String()}})[0]
}

type tester interface{ Fatalf(string, ...any) }

func (b *book) replay(t tester) (*history.Context, *Conversation) { return b.replayOf(t, me) }

func (b *book) replayOf(t tester, a id.Agent) (*history.Context, *Conversation) {
	ctx, err := history.Replay(context.Background(), b.TreeLog, a)
	if err != nil {
		t.Fatalf("%v", err)
	}
	c, err := NewConversation(context.Background(), ctx, b.Blob)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return ctx, c
}

func says(k history.Kind, text string) history.Draft {
	return history.Draft{Kind: k, Parts: []history.Part{{Type: history.Text, Text: text}}}
}

func calls(text string, ids ...string) history.Draft {
	d := history.Draft{Kind: history.Assistant}
	if text != "" {
		d.Parts = append(d.Parts, history.Part{Type: history.Text, Text: text})
	}
	for _, one := range ids {
		d.Parts = append(d.Parts, history.Part{Type: history.ToolCall, CallID: one, Name: "read", Args: json.RawMessage(`{"path":"a"}`)})
	}
	return d
}

func answers(ids ...string) history.Draft {
	d := history.Draft{Kind: history.ToolResult}
	for _, one := range ids {
		d.Parts = append(d.Parts, history.Part{Type: history.Result, CallID: one, Name: "read", Text: "R" + one})
	}
	return d
}

// short writes messages so that a test can be read.
func short(list []llm.Message) string {
	var out []string
	for _, m := range list {
		s := string(m.Role[0])
		for _, p := range m.Parts {
			switch p.Type {
			case llm.ToolCall:
				s += " " + p.CallID + "()"
			case llm.ToolResult:
				s += " " + p.CallID + "=" + p.Text
				if p.IsError {
					s += "!"
				}
			default:
				s += " " + string(p.Type[:1]) + ":" + p.Text
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, " | ")
}

// acceptable holds messages against the rules of all vendors together.
func acceptable(list []llm.Message) error {
	begun := false
	var open []llm.Part
	seen := map[string]bool{}
	for i, m := range list {
		bad := func(format string, args ...any) error {
			return fmt.Errorf("message %d: %s: %s", i, fmt.Sprintf(format, args...), short(list))
		}
		if len(m.Parts) == 0 {
			return bad("is empty")
		}
		if open != nil {
			if m.Role != llm.ToolRole || len(m.Parts) < len(open) {
				return bad("calls without results before it")
			}
			for j, call := range open {
				if p := m.Parts[j]; p.Type != llm.ToolResult || p.CallID != call.CallID || p.Name != call.Name {
					return bad("result %d does not answer call %s", j, call.CallID)
				}
			}
			for _, p := range m.Parts[len(open):] {
				if p.Type == llm.ToolResult {
					return bad("a result too many")
				}
			}
			open = nil
			continue
		}
		if m.Role == llm.ToolRole {
			return bad("results without calls")
		}
		if m.Role != llm.System {
			if !begun && m.Role != llm.User {
				return bad("the first is not a user")
			}
			begun = true
		}
		substance := false
		for _, p := range m.Parts {
			blank := strings.TrimSpace(p.Text) == ""
			switch {
			case p.Type == llm.Text && (!blank || m.Role == llm.Assistant && p.Signature != ""):
				substance = substance || !blank
			case p.Type == llm.Image && m.Role == llm.User:
				substance = true
			case p.Type == llm.Thinking && m.Role == llm.Assistant:
			case p.Type == llm.ToolCall && m.Role == llm.Assistant:
				if seen[p.CallID] || p.CallID == "" {
					return bad("call %q is not the first of this id", p.CallID)
				}
				if importedName(p.Name) != p.Name || !strings.HasPrefix(string(p.Args), "{") || !json.Valid(p.Args) {
					return bad("call %+v", p)
				}
				seen[p.CallID] = true
				open = append(open, p)
				substance = true
			default:
				return bad("has %+v", p)
			}
		}
		if !substance || m.Parts[len(m.Parts)-1].Type == llm.Thinking {
			return bad("says nothing, or ends in a thought")
		}
	}
	if open != nil {
		return fmt.Errorf("calls without results at the end: %s", short(list))
	}
	return nil
}

// anyDraft draws any entry, sane or not.
func anyDraft(t *rapid.T, b *book) history.Draft {
	ids := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "weird id", ""}), 1, 3)
	switch rapid.IntRange(0, 13).Draw(t, "kind") {
	case 0, 1:
		return says(history.User, rapid.SampledFrom([]string{"q", " ", "long"}).Draw(t, "text"))
	case 2:
		return says(history.System, "S")
	case 3:
		return says(history.Assistant, rapid.SampledFrom([]string{"x", "\n"}).Draw(t, "text"))
	case 4, 5, 6:
		return calls(rapid.SampledFrom([]string{"", "x"}).Draw(t, "text"), ids.Draw(t, "ids")...)
	case 7, 8, 9:
		return answers(ids.Draw(t, "ids")...)
	case 10:
		return history.Draft{Kind: rapid.SampledFrom(history.Kinds()[:4]).Draw(t, "role"), Parts: rapid.SliceOfN(rapid.SampledFrom([]history.Part{
			{Type: history.Text, Text: "t"}, {Type: history.Text, Signature: "s", Origin: "gemini"}, {Type: history.Thinking, Text: "th"},
			{Type: history.Thinking, Text: "th", Signature: "s", Origin: "anthropic"},
			{Type: history.ToolCall, CallID: "m", Name: "", Malformed: "{"}, {Type: history.Result, CallID: "m", Text: "r"},
			{Type: history.Image, MediaType: "image/png", Data: []byte("png")}, {Type: "future"},
		}), 0, 4).Draw(t, "parts")}
	case 11:
		return history.Draft{Kind: rapid.SampledFrom([]history.Kind{history.Usage, history.Note, history.Mark, history.Interrupted}).Draw(t, "aside")}
	case 12:
		if b.next > 1 {
			return history.NewRewind(id.Message(rapid.Int64Range(1, int64(b.next)-1).Draw(t, "target")), "")
		}
	}
	return says(history.ToolResult, "by hand")
}

// any writes an entry of any kind; false where that would be no history.
func (b *book) any(t *rapid.T) (history.Entry, bool) {
	if b.next > 1 && rapid.IntRange(0, 15).Draw(t, "redact") == 0 {
		victim := id.Message(rapid.Int64Range(1, int64(b.next)-1).Draw(t, "victim"))
		return b.redact(victim), true
	}
	d := anyDraft(t, b)
	if d.Kind == history.Rewind {
		target, err := id.ParseMessage(d.Meta.Target)
		if err != nil || history.Lookup(context.Background(), b.TreeLog, me, target) != nil {
			return history.Entry{}, false
		}
	}
	return b.write(d)[0], true
}

// same holds two conversations of one history against each other.
func same(t *rapid.T, what string, a, b *Conversation) {
	x, y := short(a.Messages()), short(b.Messages())
	if x != y || a.state != b.state || a.Len() != b.Len() || !reflect.DeepEqual(a.Unanswered(), b.Unanswered()) {
		t.Fatalf("%s:\n%s %v\nread anew:\n%s %v", what, x, a.state, y, b.state)
	}
	if err := acceptable(a.Messages()); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	list := a.Messages()
	if a.State() == Open && lastSpeaker(list) == llm.Assistant {
		t.Fatalf("%s: nothing waits for an answer: %s", what, x)
	}
	for _, r := range []llm.Role{llm.System, llm.User, llm.Assistant, llm.ToolRole} {
		var want llm.Message
		for _, m := range list {
			if m.Role == r {
				want = m
			}
		}
		if got, ok := a.Newest(r); ok != (want.Role == r) || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: the newest of %s is %v: %s", what, r, got, x)
		}
	}
}

// lastSpeaker is who spoke last, the system apart.
func lastSpeaker(list []llm.Message) llm.Role {
	for _, m := range slices.Backward(list) {
		if m.Role != llm.System {
			return m.Role
		}
	}
	return ""
}

// Whatever the history, the request is acceptable; growing, forking and reading
// anew give the same one; and nobody changes what another one has.
func TestAnyHistoryBecomesAcceptable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBook()
		_, live := b.replay(t)
		var forks []*Conversation
		var were []string
		for range rapid.IntRange(1, 25).Draw(t, "n") {
			e, ok := b.any(t)
			if !ok {
				continue
			}
			ok = testkit.Must(live.Add(context.Background(), e))(t)
			_, fresh := b.replay(t)
			if !ok {
				live = fresh
			}
			same(t, "grown", live, fresh)
			if rapid.IntRange(0, 2).Draw(t, "fork") > 0 {
				continue
			}
			at := id.Message(rapid.Int64Range(0, int64(b.next)-1).Draw(t, "at"))
			fork, ok := live.Fork(at)
			if ok != (at >= live.shaped) {
				t.Fatalf("forked at %d: %v", at, ok)
			}
			if !ok {
				continue
			}
			child := id.Agent(fmt.Sprintf("child-%d", b.next))
			b.Fork(me, child, at)
			_, then := b.replayOf(t, child)
			same(t, fmt.Sprintf("forked at %d", at), fork, then)
			for range rapid.IntRange(0, 3).Draw(t, "steps") {
				d := anyDraft(t, b)
				if d.Kind == history.Rewind {
					continue
				}
				testkit.Must(fork.Add(context.Background(), b.writeFor(child, d)...))(t)
			}
			_, then = b.replayOf(t, child)
			same(t, "grown fork", fork, then)
			forks, were = append(forks, fork), append(were, short(fork.Messages()))
		}
		for i, f := range forks {
			if got := short(f.Messages()); got != were[i] {
				t.Fatalf("a fork changed from\n%s\nto\n%s", were[i], got)
			}
		}
	})
}

// Every vendor takes what the adapters make of any conversation.
func TestEveryVendorAcceptsAnyHistory(t *testing.T) {
	for vendor, open := range map[string]func(wire.Options) llm.Provider{
		"anthropic":   func(o wire.Options) llm.Provider { return anthropic.At(o, anthropic.Host{}) },
		"openai-chat": func(o wire.Options) llm.Provider { return chat.New(o, chat.Dialect{Thoughts: "reasoning"}) },
		"openai":      responses.New,
		"gemini":      gemini.New,
	} {
		t.Run(vendor, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body, err := io.ReadAll(req.Body)
				if err == nil {
					_, err = llmtest.CheckRequest(vendor, body)
				}
				if err != nil {
					http.Error(w, `{"error": {"type": "invalid_request_error", "message": `+fmt.Sprintf("%q", err)+`}}`, http.StatusBadRequest)
					return
				}
				w.WriteHeader(http.StatusTeapot) // accepted: nothing more is asked
			}))
			defer server.Close()
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			p := open(wire.Options{Vendor: vendor, Base: server.URL, HTTP: transport, Model: func(string) llm.Model { return llm.Model{} }})
			rapid.Check(t, func(t *rapid.T) {
				b := newBook()
				for range rapid.IntRange(1, 25).Draw(t, "n") {
					b.any(t)
				}
				_, c := b.replay(t)
				messages := c.Messages()
				if c.State() == Idle {
					messages = append(messages, llm.Say(llm.User, "go on"))
				}
				_, _, _, err := llm.Collect(p.Stream(context.Background(), llm.Request{Model: "x", Messages: messages}))
				why, ok := errors.AsType[*llm.Failure](err)
				if !ok || why.Status != http.StatusTeapot {
					t.Fatalf("%v (%s)\n%s", err, fault.CodeOf(err), short(messages))
				}
			})
		})
	}
}
