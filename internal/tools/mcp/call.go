package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/base/text"
	"ramet/internal/core/trust"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// How calls end, in memos and telemetry.
const (
	Done    = "done"    // the server answered
	Failed  = "failed"  // the server said that it could not
	Refused = "refused" // nothing was asked: the server does not run
	Unknown = "unknown" // whether it was done is unknown
)

// Result is the result of a call.
type Result struct {
	Outcome string
	Text    string
	Image   *Image // the first that it shows; nil: none
	Took    time.Duration
	Why     error // of one that was refused
}

// Image is a picture in an answer.
type Image struct {
	MediaType string
	Data      []byte
}

// Call calls a tool by the server's own name for it, once. An error is the end of ctx.
func (p *Pool) Call(ctx context.Context, server, name string, args json.RawMessage) (Result, error) {
	begun := time.Now()
	out, err := p.call(ctx, server, name, args)
	out.Took = time.Since(begun)
	return out, err
}

func (p *Pool) call(ctx context.Context, server, name string, args json.RawMessage) (Result, error) {
	h, err := p.holder(server)
	if err != nil {
		return Result{Outcome: Refused, Text: "Nothing was done: " + err.Error(), Why: err}, nil
	}
	c, give, err := p.take(ctx, h)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		return Result{Outcome: Refused, Text: "Nothing was done: " + err.Error(), Why: err}, nil
	}
	broken := false
	defer func() { give(broken) }()
	limited, cancel := context.WithTimeout(ctx, h.server.timeout())
	defer cancel()
	defer h.called(ctx)()
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	answer, err := c.session.CallTool(limited, &sdk.CallToolParams{Name: name, Arguments: args})
	if err == nil {
		return resultOf(answer), nil
	}
	var said *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case errors.As(err, &said) && said.Code == codeTooLong:
		return Result{Outcome: Unknown, Text: "The answer of " + server + " was too long to be read: " + text.Line(trust.Reveal(said.Message), 200) + "."}, nil
	case errors.As(err, &said) && !errors.Is(err, sdk.ErrConnectionClosed):
		return Result{Outcome: Failed, Text: fmt.Sprintf("%s answers with an error (%d): %s", server, said.Code, boundText(said.Message, mostText))}, nil
	case limited.Err() != nil:
		return Result{Outcome: Unknown, Text: fmt.Sprintf("%s did not answer within %s: the outcome is unknown. It may have happened; look before you repeat it.", server, h.server.timeout())}, nil
	case c.alive(limited):
		return Result{Outcome: Unknown, Text: fmt.Sprintf("%s answered, and what it says cannot be read (%s): it was carried out, and may have failed. Look before you repeat it.", server, h.server.says(err))}, nil
	}
	broken = true
	how := c.ending()
	if how == "" {
		how = h.server.says(err)
	}
	return Result{Outcome: Unknown, Text: fmt.Sprintf("%s was lost during the call: the outcome is unknown. It may have happened; look before you repeat it. [%s]", server, how)}, nil
}

// called notes for whom the server is called, until that is over.
func (h *holder) called(ctx context.Context) (over func()) {
	who, ok := ctx.Value(callerKey{}).(caller)
	if !ok {
		return func() {}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.callers = append(h.callers, who)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if i := slices.Index(h.callers, who); i >= 0 {
			h.callers = slices.Delete(h.callers, i, i+1)
		}
	}
}

// resultOf returns an answer as a model reads it.
func resultOf(a *sdk.CallToolResult) Result {
	var parts []string
	out := Result{Outcome: Done}
	for _, c := range a.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			parts = append(parts, c.Text)
		case *sdk.ImageContent:
			if out.Image == nil && len(c.Data) > 0 {
				out.Image = &Image{MediaType: text.Line(c.MIMEType, 60), Data: c.Data}
			}
			parts = append(parts, fmt.Sprintf("[image %s, %d bytes]", text.Line(c.MIMEType, 60), len(c.Data)))
		case *sdk.AudioContent:
			parts = append(parts, fmt.Sprintf("[audio %s, %d bytes: left out]", text.Line(c.MIMEType, 60), len(c.Data)))
		case *sdk.ResourceLink:
			parts = append(parts, fmt.Sprintf("[resource %s: %s]", text.Line(c.URI, 200), text.Line(c.Name, 100)))
		case *sdk.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				parts = append(parts, fmt.Sprintf("[resource %s]\n%s", text.Line(c.Resource.URI, 200), c.Resource.Text))
			} else if c.Resource != nil {
				parts = append(parts, fmt.Sprintf("[resource %s, %d bytes: left out]", text.Line(c.Resource.URI, 200), len(c.Resource.Blob)))
			}
		}
	}
	if len(parts) == 0 && a.StructuredContent != nil {
		if raw, err := json.Marshal(a.StructuredContent); err == nil {
			parts = append(parts, string(raw))
		}
	}
	if out.Text = text.Middle(strings.ToValidUTF8(trust.Reveal(strings.Join(parts, "\n")), "\uFFFD"), mostAnswer); strings.TrimSpace(out.Text) == "" {
		out.Text = "[no output]"
	}
	if a.IsError {
		out.Outcome = Failed
	}
	return out
}

// Memo is kept in the result of a call of a server.
type Memo struct {
	MCP *Called `json:"mcp"`
}

// Called is one call of a server.
type Called struct {
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Outcome string `json:"outcome"`
	TookMS  int64  `json:"took_ms"`
}

// remote is a tool of a server.
type remote struct {
	pool   *Pool
	server string
	Definition
	unproven string // see tool.Spec
}

func (r remote) Spec() tool.Spec {
	about := cmp.Or(r.Description, r.Title)
	return tool.Spec{Name: r.Name, Description: "Of the MCP server " + r.server + ". " + about, Schema: r.Schema, Access: tool.Servers, Digest: r.Digest, Unproven: r.unproven,
		Summary: func(args json.RawMessage) string { return r.Name + " " + string(args) }}
}

func (r remote) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	out, err := r.pool.Call(For(ctx, c.Agent, c.ID), r.server, r.Tool, c.Args)
	if err != nil {
		return tool.Answer{}, err
	}
	memo, err := json.Marshal(Memo{&Called{r.server, text.Line(r.Tool, 200), out.Outcome, out.Took.Milliseconds()}})
	answer := tool.Answer{Text: out.Text, IsError: out.Outcome != Done, Memo: string(memo)}
	if out.Outcome == Done || out.Outcome == Failed {
		answer.Foreign = []string{"mcp:" + r.server}
	}
	if out.Image != nil && (c.Model.Images || !c.Model.Known) {
		if part, _, err := llm.PicturePart(r.Name, out.Image.Data); err == nil {
			answer.File = &part // one that cannot be shown is named in the text
		}
	}
	return answer, err
}
