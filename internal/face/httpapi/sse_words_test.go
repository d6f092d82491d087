package httpapi

import (
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/operation/public"
	"ramet/internal/turn/loop"
)

// Words are told as any other event would be.
func TestWordsHaveTheFormOfOtherEvents(t *testing.T) {
	e := &Events{}
	for _, kind := range []loop.EventType{loop.TextDelta, loop.ThinkingDelta} {
		for _, said := range []string{"", "word ", "a \"quote\" \\ </p> & é\n\t", "\u2028\x7f\u202e", "\xff", strings.Repeat("long ", 1000)} {
			for _, agent := range []id.Agent{"", "RXY4BCNyHa7D986Dfs0Fqw"} {
				one := loop.Event{Type: kind, Agent: agent, Text: said}
				got, ok := e.words(one)
				if want := e.encode(EventLine{Line: public.Format(one)}); !ok || string(got) != want {
					t.Errorf("%s\n%s", got, want)
				}
			}
		}
	}
	if _, ok := e.words(loop.Event{Type: loop.Note, Text: "no words of a model"}); ok {
		t.Error("a note was taken for words")
	}
	if _, ok := e.words(loop.Event{Type: loop.TextDelta, Text: "x", Turn: 1}); ok {
		t.Error("what stands beside the words was lost")
	}
	e.o.Hide = func(s string) string { return strings.ReplaceAll(s, "sk-1", "[hidden]") }
	if got, _ := e.words(loop.Event{Type: loop.TextDelta, Text: "the key sk-1"}); strings.Contains(string(got), "sk-1") || !strings.Contains(string(got), "[hidden]") {
		t.Errorf("a secret is told: %s", got)
	}
}
