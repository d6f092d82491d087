package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/driver"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

// speak returns session s of a program in this process. program is called with each message that it reads, and prints lines.
func speak(t *testing.T, program func(m Message, print func(format string, args ...any))) *session {
	t.Helper()
	read, in, err := os.Pipe()
	testkit.OK(t, err)
	out, write, err := os.Pipe()
	testkit.OK(t, err)
	s := &session{program: &Program{Driver: "fake", Login: "fake login"}, in: in, about: driver.About{Session: "s"}}
	s.conn = &Conn{Write: s.write, MaxLine: 1 << 10, Take: s.take, Bad: s.reportBad, Clean: func(said string) string { return said }}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		s.conn.Read(out)
	}()
	go func() {
		defer write.Close()
		for lines := bufio.NewScanner(read); lines.Scan(); {
			var m Message
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				t.Errorf("ramet wrote %s", lines.Bytes())
			}
			program(m, func(format string, args ...any) { fmt.Fprintf(write, format+"\n", args...) })
		}
	}()
	t.Cleanup(func() {
		in.Close()
		<-heard
	})
	return s
}

// prompt prompts the session, and returns what the program told as lines.
func prompt(ctx context.Context, s *session, reply driver.Reply) (told []string, stop driver.Stop, err error) {
	stop, err = s.Prompt(ctx, []llm.Part{{Type: llm.Text, Text: "go"}}, func(u driver.Update) {
		line := string(u.Type) + " " + u.Text
		if u.Call.ID != "" {
			line += u.Call.ID
		}
		for _, p := range u.Plan {
			line += p.Status + " " + p.Text
		}
		told = append(told, line)
		if u.Reply != nil {
			u.Reply(reply)
		}
	})
	return told, stop, err
}

func update(session, kind, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":%q,%s}}}`, session, kind, more)
}

func says(text string) string {
	return update("s", "agent_message_chunk", fmt.Sprintf(`"content":{"type":"text","text":%q}`, text))
}

const answer = `{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"%s","usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120,"cachedReadTokens":5}}}`

// What a program says is told in order; what is not readable, too long or unheard of is odd and ends nothing; what is about
// another session or comes after the answer is dropped.
func TestWhatAProgramSays(t *testing.T) {
	s := speak(t, func(m Message, print func(string, ...any)) {
		if m.Method != "session/prompt" {
			return
		}
		for _, line := range []string{
			update("s", "agent_thought_chunk", `"content":{"type":"text","text":"hm"}`),
			update("s", "plan", `"entries":[{"content":"say it","priority":"high","status":"in_progress"}]`),
			says("hello"),
			"this is not a message",
			`{"jsonrpc":"2.0","id":77777,"result":{}}`,
			`{"jsonrpc":"2.0","method":"session/update","params":7}`,
			update("s", "dance", `"n":1`),
			`{"jsonrpc":"2.0","id":"x","method":"fs/read_text_file","params":{"path":"/etc/passwd"}}`,
			update("another", "agent_message_chunk", `"content":{"type":"text","text":"not mine"}`),
			says(strings.Repeat("y", 2<<10)),
			update("s", "user_message_chunk", `"content":{"type":"text","text":"go"}`),
			update("s", "tool_call", `"toolCallId":"c1","title":"ls","kind":"execute","status":"completed"`),
		} {
			print("%s", line)
		}
		print(answer, m.ID, "end_turn")
		print("%s", says("too late"))
	})
	told, stop, err := prompt(t.Context(), s, "")
	if want := (llm.Usage{Input: 100, Output: 20, CacheRead: 5}); err != nil || stop.Reason != "end_turn" || stop.Usage != want {
		t.Errorf("%+v, %v", stop, err)
	}
	want := []string{"thought hm", "planned in_progress say it", "said hello", "odd it says something that is not a message: this is not a message",
		"odd it answers a request that was not sent", "odd an update that is not readable", "odd an update of a kind that ramet does not know", "odd it asks for fs/read_text_file",
		"odd a line of ", "called c1"}
	if !slices.EqualFunc(told, want, func(got, want string) bool { return strings.HasPrefix(got, want) }) {
		t.Errorf("told are\n%s", strings.Join(told, "\n"))
	}
}

// A program that hears a cancel ends its turn itself: what it says then is told.
func TestACancelledPromptEndsByItself(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var asked json.RawMessage
	s := speak(t, func(m Message, print func(string, ...any)) {
		switch m.Method {
		case "session/prompt":
			asked = m.ID
			print("%s", says("I wait."))
			cancel()
		case "session/cancel":
			print("%s", says(" I stop."))
			print(answer, asked, "cancelled")
		}
	})
	told, stop, err := prompt(ctx, s, "")
	if err != nil || stop.Reason != "cancelled" || strings.Join(told, "") != "said I wait.said  I stop." {
		t.Errorf("%q, %+v, %v", told, stop, err)
	}
}

// A question has the answer that permits or refuses once; without such a choice it is cancelled.
func TestAProgramAsks(t *testing.T) {
	for _, c := range []struct {
		reply         driver.Reply
		options, want string
	}{
		{driver.Allow, `{"optionId":"always","kind":"allow_always"},{"optionId":"yes","kind":"allow_once"}`, `"optionId":"yes"`},
		{driver.Refuse, `{"optionId":"yes","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}`, `"optionId":"no"`},
		{driver.Cancel, `{"optionId":"no","kind":"reject_once"}`, `"outcome":"cancelled"`},
		{driver.Allow, `{"optionId":"no","kind":"reject_once"}`, `"outcome":"cancelled"`},
	} {
		var asked json.RawMessage
		got := ""
		s := speak(t, func(m Message, print func(string, ...any)) {
			if m.Method == "session/prompt" {
				asked = m.ID
				print(`{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c1","title":"ls"},"options":[%s]}}`, c.options)
				return
			}
			got = string(m.Result)
			print(answer, asked, "end_turn")
		})
		if told, _, err := prompt(t.Context(), s, c.reply); err != nil || len(told) != 1 || !strings.Contains(got, c.want) {
			t.Errorf("%s of %s: %s, %q, %v", c.reply, c.options, got, told, err)
		}
	}
}

// A program that wants a login, or refuses, says so.
func TestAProgramRefuses(t *testing.T) {
	for said, code := range map[string]fault.Code{`{"code":-32000,"message":"Authentication required"}`: fault.ProviderAuth, `{"code":-32603,"message":"no"}`: fault.Failed} {
		s := speak(t, func(m Message, print func(string, ...any)) { print(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, said) })
		if _, _, err := prompt(t.Context(), s, ""); !fault.Is(err, code) {
			t.Errorf("%s: %v", said, err)
		}
	}
}
