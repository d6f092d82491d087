package driver

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
)

const (
	mostRendered  = 48 << 10 // bytes of a rendering
	mostOfMessage = 4 << 10  // bytes of one message in it
	mostMessages  = 400      // that are looked at
)

// rendering is the context of an agent in words, for a program that was not there: its newest
// messages before those that are about to be said. Empty: there is nothing to tell.
func rendering(ctx context.Context, log history.Log, a id.Agent, unheard []history.Entry) (string, error) {
	said := map[id.Message]bool{}
	for _, e := range unheard {
		said[e.ID] = true
	}
	tail, err := history.Tail(ctx, log, a, mostMessages)
	if err != nil {
		return "", err
	}
	var lines []string // newest first
	size, left := 0, 0
	for i := len(tail) - 1; i >= 0; i-- {
		e := tail[i]
		if said[e.ID] {
			continue
		}
		line, err := rendered(ctx, log, e)
		if err != nil {
			return "", err
		}
		if line == "" {
			continue
		}
		if size+len(line) > mostRendered {
			left = i + 1
			break
		}
		lines, size = append(lines, line), size+len(line)
	}
	if len(lines) == 0 {
		return "", nil
	}
	var b strings.Builder
	b.WriteString("[ramet] You take over a conversation that you were not part of. What follows, up to the end mark, is a rendering of it in words: shortened, and no memory of yours. Files are as that work left them.\n\n<conversation>\n")
	if left > 0 || len(tail) == mostMessages {
		b.WriteString("(what came before is left out)\n")
	}
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString(lines[i])
		b.WriteByte('\n')
	}
	b.WriteString("</conversation>\n\n[ramet] This is what you are asked now:\n")
	return b.String(), nil
}

// rendered is one message in words.
func rendered(ctx context.Context, log history.Log, e history.Entry) (string, error) {
	parts, err := e.Parts()
	if err != nil {
		return "", err
	}
	if err := history.Fill(parts, func(h chain.Hash) ([]byte, error) { return log.Blob(ctx, h) }); err != nil {
		return "", err
	}
	var words []string
	for _, p := range parts {
		switch p.Type {
		case history.Text:
			words = append(words, p.Text)
		case history.ToolCall:
			words = append(words, fmt.Sprintf("[calls %s %s]", p.Name, p.Args))
		case history.Result:
			how := "answers"
			if p.IsError {
				how = "fails"
			}
			words = append(words, fmt.Sprintf("[%s %s: %s]", p.Name, how, p.Text))
		case history.Image, history.Document:
			words = append(words, p.About())
		}
	}
	said := strings.TrimSpace(strings.Join(words, "\n"))
	if said == "" {
		return "", nil
	}
	who := map[history.Kind]string{history.User: "user", history.Assistant: "assistant", history.ToolResult: "tool", history.System: "system",
		history.Notice: "ramet", history.Compact: "summary"}[e.Kind]
	who = cmp.Or(who, string(e.Kind))
	return who + ": " + text.Middle(said, mostOfMessage), nil
}

// words are the parts of what is said to the program. /NAME:COMMAND is its own /COMMAND.
func words(ctx context.Context, log history.Log, about About, entries []history.Entry) ([]llm.Part, error) {
	var out []llm.Part
	for _, e := range entries {
		parts, err := e.Parts()
		if err != nil {
			return nil, err
		}
		if err := history.Fill(parts, func(h chain.Hash) ([]byte, error) { return log.Blob(ctx, h) }); err != nil {
			return nil, err
		}
		for _, p := range parts {
			switch {
			case p.Type == history.Text && p.Text != "":
				said := p.Text
				if own, ok := strings.CutPrefix(said, "/"+about.Driver+":"); ok && e.Kind == history.User {
					said = "/" + own
				}
				out = append(out, llm.Part{Type: llm.Text, Text: said})
			case p.Type == history.Image && about.Images:
				out = append(out, llm.Part{Type: llm.Image, MediaType: p.MediaType, Data: p.Data, Name: p.Name})
			case p.Type == history.Image, p.Type == history.Document:
				out = append(out, llm.Part{Type: llm.Text, Text: p.About() + " (the program accepts no such files)"})
			}
		}
	}
	return out, nil
}
