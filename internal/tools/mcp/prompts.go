package mcp

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Prompt is a prompt that a server has, by name.
type Prompt struct {
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	Args        []Argument `json:"args,omitempty"`
}

// Argument is one of a prompt's.
type Argument struct {
	Name   string `json:"name"`
	Needed bool   `json:"needed,omitempty"`
}

// Hint returns what its arguments are, for people.
func (p Prompt) Hint() string {
	var out []string
	for _, a := range p.Args {
		if a.Needed {
			out = append(out, a.Name)
		} else {
			out = append(out, "["+a.Name+"]")
		}
	}
	return strings.Join(out, " ")
}

// listPrompts asks a server for its prompts. Those whose names cannot be typed are left out.
func listPrompts(ctx context.Context, s *sdk.ClientSession) ([]Prompt, error) {
	var out []Prompt
	for p, err := range s.Prompts(ctx, nil) {
		if err != nil || len(out) == mostResources {
			return out, err
		}
		if p.Name == "" || strings.ContainsAny(p.Name, " \t\n") || text.Line(p.Name, 200) != p.Name {
			continue
		}
		one := Prompt{Name: p.Name, Description: text.Line(p.Description, 300)}
		for _, a := range p.Arguments {
			if a != nil {
				one.Args = append(one.Args, Argument{text.Line(a.Name, 100), a.Required})
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// Prompt returns what a prompt of a server says with these arguments: each by its name (name=value), or
// by its place; what is too many belongs to the last.
func (p *Pool) Prompt(ctx context.Context, server string, one Prompt, words []string) (string, error) {
	args := map[string]string{}
	free := one.Args
	for i, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok && slices.ContainsFunc(one.Args, func(a Argument) bool { return a.Name == name }) {
			args[name] = value
			continue
		}
		for len(free) > 0 && args[free[0].Name] != "" {
			free = free[1:]
		}
		switch {
		case len(free) == 0:
			return "", fault.New(fault.Usage, "%s:%s takes %d arguments, and %q is one more", server, one.Name, len(one.Args), text.Line(w, 40)).WithHint("%s", one.Hint())
		case len(free) == 1:
			args[free[0].Name] = strings.Join(words[i:], " ")
		default:
			args[free[0].Name] = w
			continue
		}
		break
	}
	for _, a := range one.Args {
		if a.Needed && args[a.Name] == "" {
			return "", fault.New(fault.Usage, "%s:%s needs %s", server, one.Name, a.Name).WithHint("/%s:%s %s", server, one.Name, one.Hint())
		}
	}
	var out []string
	err := p.with(ctx, server, func(ctx context.Context, s *sdk.ClientSession) error {
		r, err := s.GetPrompt(ctx, &sdk.GetPromptParams{Name: one.Name, Arguments: args})
		if err != nil {
			return err
		}
		for _, m := range r.Messages {
			if m == nil || m.Content == nil {
				continue
			}
			said := resultOf(&sdk.CallToolResult{Content: []sdk.Content{m.Content}}).Text
			if m.Role != "user" {
				said = "(" + text.Line(string(m.Role), 20) + ") " + said
			}
			out = append(out, said)
		}
		return nil
	})
	return strings.Join(out, "\n\n"), err
}
