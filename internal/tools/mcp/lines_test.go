package mcp

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

func filtered(in string, most int) string {
	out, err := io.ReadAll(newLines(io.NopCloser(strings.NewReader(in)), most))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(out)
}

func TestOnlyMessagesAreHandedOn(t *testing.T) {
	const one, two = `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", `{"jsonrpc":"2.0","method":"x"}` + "\n"
	got := filtered("Welcome to my server!\n\n"+one+"\x1b[31mdebug\x1b[0m\n[info] ready\n{\"level\":30}\n[]\n[1]\n{\"id\":1,\"result\":{}}\n"+two+"["+one[:len(one)-1]+"]\n{\"cut", 1000)
	if got != one+two+"["+one[:len(one)-1]+"]\n" {
		t.Errorf("%q", got)
	}
}

func TestALongAnswerBecomesAShortOne(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	const next = `{"jsonrpc":"2.0","method":"next"}` + "\n"
	for _, form := range []string{
		`{"jsonrpc":"2.0","id":7,"result":{"text":"%s"}}`,
		`{"result":{"text":"%s"},"jsonrpc":"2.0","id":7}`,
		`{"result":{"text":"%s","id":3},"id":7,"jsonrpc":"2.0"}`,
		`{"id": 7, "result":{"id":1,"text":"%s"}}`,
	} {
		got := filtered(fmt.Sprintf(form, long)+"\n"+next, 100_000)
		if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":7,"error":`) || !strings.HasSuffix(got, "\n"+next) || len(got) > 500 {
			t.Errorf("%s: %.200q", form, got)
		}
	}
	if got := filtered(`{"method":"`+long+"\"}\n"+next, 100_000); got != next {
		t.Errorf("%.200q", got)
	}
}

func FuzzLinesAreWholeMessages(f *testing.F) {
	f.Add("a\n{}\n[", 8)
	f.Fuzz(func(t *testing.T, s string, most int) {
		if most < 1 || most > 1<<20 {
			return
		}
		for line := range strings.Lines(filtered(s, most)) {
			if !strings.HasSuffix(line, "\n") || !strings.ContainsAny(strings.TrimSpace(line)[:1], "{[") {
				t.Fatalf("%q", line)
			}
		}
	})
}
