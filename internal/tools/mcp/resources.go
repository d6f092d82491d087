package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/trust"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// Resource is something that a server has to read.
type Resource struct {
	URI         string `json:"uri"` // of a template: with {places}
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	MediaType   string `json:"media_type,omitempty"`
	Template    bool   `json:"template,omitempty"`
}

// mostResources limits how many resources, and how many prompts, of one server are listed.
const mostResources = 1000

// The tools by which resources of a server are found and read.
const (
	listResources = "list_resources"
	readResource  = "read_resource"
)

// Resources asks a server what it has to read.
func (p *Pool) Resources(ctx context.Context, server string) ([]Resource, error) {
	var out []Resource
	err := p.with(ctx, server, func(ctx context.Context, s *sdk.ClientSession) error {
		for r, err := range s.Resources(ctx, nil) {
			if err != nil || len(out) == mostResources {
				return err
			}
			out = append(out, Resource{URI: text.Line(r.URI, 1000), Name: text.Line(r.Name, 200), Description: text.Line(r.Description, 300), MediaType: text.Line(r.MIMEType, 100)})
		}
		for r, err := range s.ResourceTemplates(ctx, nil) {
			if err != nil || len(out) == mostResources {
				return ignoreUnknown(err)
			}
			out = append(out, Resource{URI: text.Line(r.URITemplate, 1000), Name: text.Line(r.Name, 200), Description: text.Line(r.Description, 300), MediaType: text.Line(r.MIMEType, 100), Template: true})
		}
		return nil
	})
	return out, err
}

// ignoreUnknown passes over that a server does not know what it is asked.
func ignoreUnknown(err error) error {
	var said *jsonrpc.Error
	if errors.As(err, &said) && said.Code == jsonrpc.CodeMethodNotFound {
		return nil
	}
	return err
}

// Read reads a resource of a server.
func (p *Pool) Read(ctx context.Context, server, uri string) (Result, error) {
	var out Result
	err := p.with(ctx, server, func(ctx context.Context, s *sdk.ClientSession) error {
		r, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			return err
		}
		var content []sdk.Content
		for _, c := range r.Contents {
			if c == nil {
				continue
			}
			switch {
			case strings.HasPrefix(c.MIMEType, "image/") && len(c.Blob) > 0:
				content = append(content, &sdk.ImageContent{MIMEType: c.MIMEType, Data: c.Blob})
			case c.Text != "":
				content = append(content, &sdk.TextContent{Text: c.Text})
			default:
				content = append(content, &sdk.EmbeddedResource{Resource: c})
			}
		}
		out = resultOf(&sdk.CallToolResult{Content: content})
		return nil
	})
	return out, err
}

// with asks a server something that changes nothing, within the time of a call.
func (p *Pool) with(ctx context.Context, server string, ask func(context.Context, *sdk.ClientSession) error) error {
	h, err := p.holder(server)
	if err != nil {
		return err
	}
	c, give, err := p.take(ctx, h)
	if err != nil {
		return err
	}
	broken := false
	defer func() { give(broken) }()
	limited, cancel := context.WithTimeout(ctx, h.server.timeout())
	defer cancel()
	err = ask(limited, c.session)
	var said *jsonrpc.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &said) && !errors.Is(err, sdk.ErrConnectionClosed):
		return fault.New(fault.Failed, "MCP server %s answers with an error (%d): %s", server, said.Code, boundText(said.Message, mostText))
	case limited.Err() != nil:
		return fault.New(fault.TimedOut, "MCP server %s did not answer within %s", server, h.server.timeout())
	}
	broken = true
	return c.failure(limited, h.server, err)
}

// library is a tool that lists or reads the resources of a server.
type library struct {
	pool         *Pool
	server, name string
	reads        bool
}

// libraries returns the tools for the resources of a server that has some.
func (p *Pool) libraries(l List) tool.Box {
	if !l.Resources {
		return nil
	}
	taken := map[string]bool{}
	for _, d := range l.Tools {
		taken[d.Name] = true
	}
	return tool.Box{library{p, l.Server, toolName(l.Server, listResources, taken), false}, library{p, l.Server, toolName(l.Server, readResource, taken), true}}
}

func (l library) Spec() tool.Spec {
	s := tool.Spec{Name: l.name, Access: tool.Servers, Description: "Lists what the MCP server " + l.server + " has to read.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
	if l.reads {
		s.Description = "Reads a resource of the MCP server " + l.server + " by its URI."
		s.Schema = json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"]}`)
	}
	s.Summary = func(args json.RawMessage) string { return l.name + " " + string(args) }
	if h, err := l.pool.holder(l.server); err == nil {
		s.Digest, s.Unproven = digestOf(h.server, l.name), h.server.unproven(Definition{})
	}
	return s
}

func (l library) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	if !l.reads {
		found, err := l.pool.Resources(ctx, l.server)
		if err != nil {
			return answerRefused(ctx, err)
		}
		var b strings.Builder
		for _, r := range found {
			fmt.Fprintf(&b, "%s %s: %s\n", r.URI, r.Name, r.Description)
		}
		if len(found) == 0 {
			b.WriteString("It has none.")
		}
		return tool.Answer{Text: text.Middle(strings.ToValidUTF8(trust.Reveal(b.String()), "\uFFFD"), mostAnswer), Foreign: []string{"mcp:" + l.server}}, nil
	}
	var args struct{ URI string }
	if err := json.Unmarshal(c.Args, &args); err != nil || args.URI == "" {
		return tool.Failed("uri is needed: a text."), nil
	}
	out, err := l.pool.Read(ctx, l.server, args.URI)
	if err != nil {
		return answerRefused(ctx, err)
	}
	answer := tool.Answer{Text: out.Text, Foreign: []string{"mcp:" + l.server}}
	if out.Image != nil && (c.Model.Images || !c.Model.Known) {
		if part, _, err := llm.PicturePart(l.name, out.Image.Data); err == nil {
			answer.File = &part
		}
	}
	return answer, nil
}

func answerRefused(ctx context.Context, err error) (tool.Answer, error) {
	if ctx.Err() != nil {
		return tool.Answer{}, ctx.Err()
	}
	return tool.Failed(err.Error()), nil
}

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
