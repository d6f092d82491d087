package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// Words that people try do what they mean, or one line says which command does.
func TestGuessedWords(t *testing.T) {
	for word, want := range map[string]string{
		"ls": "Show the tree of agents", "list": "Show the tree of agents", "agents": "Show the tree of agents",
		"logs": "Show the context", "history": "Show the context", "cost": "Aliases:", "search": "Find messages", "interrupt": "Stop the turn", "--version": "ramet 9.9", "-v": "ramet 9.9",
		"status": "ramet ps", "stop": "ramet interrupt AGENT", "attach": "`ramet` alone", "open": "`ramet` alone", "ui": "`ramet` alone",
		"login": "ramet auth set", "delete": "ramet kill AGENT", "rm": "ramet run rm", "new": "ramet fork --name", "init": "ramet fork --name",
		"sessions": "ramet resume", "update": "ramet models update", "approve": "in the terminal", "answer": "in the terminal",
		"questions": "in the terminal", "model": "ramet config set model",
	} {
		var out, errs bytes.Buffer
		e := Env{Streams: Streams{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}}
		e.System.Getenv = func(string) string { return "" }
		e.System.Now = time.Now
		e.Care.Version = func() Version { return Version{Version: "9.9"} }
		args := []string{word}
		if guesses[word] == "" && word[0] != '-' {
			args = append(args, "--help")
		}
		code := Run(context.Background(), args, e)
		printed := out.String()
		if guesses[word] != "" {
			if printed = errs.String(); code != 2 || strings.Count(printed, "\n") != 1 {
				t.Errorf("%s exits with %d and prints %s", word, code, printed)
			}
		} else if code != 0 {
			t.Errorf("%s exits with %d: %s", word, code, errs.String())
		}
		if !strings.Contains(printed, want) {
			t.Errorf("%s prints %q, not %q", word, printed, want)
		}
	}
}
