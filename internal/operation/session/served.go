package session

import (
	"context"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/core/kit"
	"ramet/internal/model/llm"
	"ramet/internal/tools/mcp"
)

// served returns the text of a prompt of an MCP server ("/server:prompt arguments"); ok is false where no
// server of that name has one of that name.
func (w Prompts) served(ctx context.Context, name, args string) (said string, ok bool, err error) {
	server, prompt, isServers := strings.Cut(name, ":")
	if !isServers || w.ws.own != "" {
		return "", false, nil
	}
	pool, _, err := w.ws.Servers().Pool()
	if err != nil || pool == nil || !has(pool, server) {
		return "", false, nil // whoever uses them is told
	}
	l, known := pool.Known(server)
	if !known {
		if l, err = pool.Ask(ctx, server); err != nil {
			return "", true, err
		}
	}
	for _, p := range l.Prompts {
		if p.Name == prompt {
			said, err = pool.Prompt(ctx, server, p, kit.Words(args))
			return said, true, err
		}
	}
	return "", false, nil
}

func has(pool *mcp.Pool, server string) bool {
	for _, s := range pool.Servers {
		if s.Name == server {
			return true
		}
	}
	return false
}

// servedPrompts are the prompts of servers whose lists are known, as commands for menus. Nothing is
// started.
func (w Prompts) servedPrompts() []kit.Command {
	pool, _, err := w.ws.Servers().Pool()
	if err != nil || pool == nil {
		return nil
	}
	var out []kit.Command
	for _, s := range pool.Servers {
		l, _ := pool.Known(s.Name)
		for _, p := range l.Prompts {
			out = append(out, kit.Command{Name: s.Name + ":" + p.Name, Description: p.Description, Hint: p.Hint()})
		}
	}
	return out
}

// withResources puts what a prompt names as @server:uri behind it, and beside it what is an image.
// A resource that cannot be read refuses the whole.
func (w Prompts) withResources(ctx context.Context, said string) (string, []history.Part, error) {
	if !strings.Contains(said, "@") || w.ws.own != "" {
		return said, nil, nil
	}
	pool, _, err := w.ws.Servers().Pool()
	if err != nil || pool == nil {
		return said, nil, nil
	}
	var parts []history.Part
	out := said
	for _, m := range findMentions(said) {
		server, uri, ok := strings.Cut(m, ":")
		if !ok || uri == "" || !has(pool, server) {
			continue
		}
		uri = strings.TrimRight(uri, ".,;!?)'\"")
		r, err := pool.Read(ctx, server, uri)
		if err != nil {
			return said, nil, fault.New(fault.CodeOf(err), "@%s: %w", text.Line(m, 200), err)
		}
		out += "\n\nThe resource " + server + ":" + text.Line(uri, 300) + ":\n\n" + r.Text
		if r.Image != nil {
			if part, _, err := llm.PicturePart(uri, r.Image.Data); err == nil {
				parts = append(parts, history.Part{Type: history.PartType(part.Type), Name: part.Name, MediaType: part.MediaType, Data: part.Data})
			}
		}
	}
	return out, parts, nil
}

// expandServed is Expand for prompts of servers.
func (w Prompts) expandServed(ctx context.Context, name, args string) (Expanded, bool, error) {
	said, ok, err := w.served(ctx, name, args)
	if err != nil || !ok {
		return Expanded{}, ok, err
	}
	return Expanded{Name: name, Text: said}, true, CheckPrompt(said)
}
