package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/turn/permit"
)

// Inquire puts a question to a person: DENIED where no person is there.
type Inquire func(ctx context.Context, q permit.Question) (permit.Verdict, error)

// Attend sets the function that answers questions of servers from now on.
func (p *Pool) Attend(ask Inquire) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inquire = ask
}

// caller is for whom a server is called.
type caller struct {
	agent id.Agent
	call  string
}

type callerKey struct{}

// For says for which call of which agent a server is called.
func For(ctx context.Context, agent id.Agent, call string) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{agent, call})
}

// Most of what a server may ask at once, and of the choices that a question has.
const (
	mostFields  = 10
	mostChoices = 4
)

// field is something that a server wants to know.
type field struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	OneOf       []struct {
		Const string `json:"const"`
		Title string `json:"title"`
	} `json:"oneOf"`
}

// elicit asks a person what a server wants to know, for the agent that called it last. No person who could be
// asked declines, and so does a question that cannot be put.
func (p *Pool) elicit(ctx context.Context, server string, q *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	p.mu.Lock()
	ask := p.inquire
	p.mu.Unlock()
	decline := &sdk.ElicitResult{Action: "decline"}
	h := p.held[server]
	if ask == nil || h == nil {
		return decline, nil
	}
	h.mu.Lock()
	var for_ caller
	if n := len(h.callers); n > 0 {
		for_ = h.callers[n-1]
	}
	h.mu.Unlock()
	if for_.agent == "" {
		return decline, nil
	}
	e := elicitation{server: server, message: boundText(q.Message, 1000), for_: for_, ask: ask}
	if q.Mode == "url" || q.URL != "" {
		return e.url(ctx, q.URL)
	}
	var form struct {
		Properties map[string]field `json:"properties"`
		Required   []string         `json:"required"`
	}
	raw, err := json.Marshal(q.RequestedSchema)
	if err != nil || q.RequestedSchema != nil && json.Unmarshal(raw, &form) != nil || len(form.Properties) > mostFields {
		return decline, nil
	}
	content := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(form.Properties)) {
		value, ok, err := e.field(ctx, name, form.Properties[name])
		switch {
		case err != nil:
			return nil, err
		case ok:
			content[name] = value
		case slices.Contains(form.Required, name):
			return decline, nil
		}
	}
	switch {
	case len(form.Properties) == 0:
		if said, ok, err := e.put(ctx, e.message, "yes"); err != nil || !ok || said != "yes" {
			return decline, err
		}
	case len(content) == 0: // no person said anything, which accepts nothing
		return decline, nil
	}
	return &sdk.ElicitResult{Action: "accept", Content: content}, nil
}

// elicitation is one on its way.
type elicitation struct {
	server, message string
	for_            caller
	ask             Inquire
}

// put puts one question; ok is false where it is not answered.
func (e elicitation) put(ctx context.Context, says string, choices ...string) (said string, ok bool, err error) {
	q := permit.Question{Agent: e.for_.agent, CallID: e.for_.call, Tool: "ask", Summary: text.Line(e.server+" asks: "+says, 200),
		Says: text.Safe("The MCP server " + e.server + " asks: " + says), Choices: choices}
	v, err := e.ask(ctx, q)
	switch {
	case ctx.Err() != nil:
		return "", false, ctx.Err()
	case err != nil:
		return "", false, nil // no person is there
	}
	if chosen, ok := q.Chosen(v.Choice); ok {
		return chosen, true, nil
	}
	return v.Words, v.Choice == permit.Because && v.Words != "", nil
}

// field asks for one value. Words that are no such value are no answer.
func (e elicitation) field(ctx context.Context, name string, f field) (any, bool, error) {
	says := e.message + "\n" + text.Line(name, 100)
	for _, more := range []string{f.Title, f.Description} {
		if more != "" && more != name {
			says += ": " + text.Line(more, 300)
		}
	}
	values := slices.Clone(f.Enum)
	for _, o := range f.OneOf {
		values = append(values, o.Const)
	}
	var choices []string
	switch {
	case f.Type == "boolean":
		choices = []string{"yes", "no"}
	case len(values) > 0 && len(values) <= mostChoices:
		choices = values
	case len(values) > 0:
		says += fmt.Sprintf(" (one of: %s)", text.Line(strings.Join(values, ", "), 500))
	}
	said, ok, err := e.put(ctx, says, choices...)
	if err != nil || !ok {
		return nil, false, err
	}
	switch {
	case f.Type == "boolean":
		return said == "yes" || said == "true", said == "yes" || said == "no" || said == "true" || said == "false", nil
	case f.Type == "integer":
		n, err := strconv.ParseInt(strings.TrimSpace(said), 10, 64)
		return n, err == nil, nil
	case f.Type == "number":
		n, err := strconv.ParseFloat(strings.TrimSpace(said), 64)
		return n, err == nil, nil
	case len(values) > 0:
		return said, slices.Contains(values, said), nil
	}
	return said, f.Type == "string" || f.Type == "", nil
}

// url asks a person to look at an address.
func (e elicitation) url(ctx context.Context, address string) (*sdk.ElicitResult, error) {
	said, ok, err := e.put(ctx, e.message+"\nOpen this address yourself, if you trust it: "+text.Line(address, 1000), "done")
	if err != nil || !ok || said != "done" {
		return &sdk.ElicitResult{Action: "decline"}, err
	}
	return &sdk.ElicitResult{Action: "accept"}, nil
}
