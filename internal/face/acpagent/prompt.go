package acpagent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/driver/acp"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation/session"
)

// prompting hears a prompt. Its ticket is there before anything that was said later is heard, so
// that a cancel finds it.
func prompting(s *Server, raw json.RawMessage) (func(context.Context) (any, error), error) {
	r, err := params[sdk.PromptRequest](raw)
	if err != nil {
		return nil, err
	}
	c, err := s.find(r.SessionId)
	if err != nil {
		return nil, err
	}
	p, err := said(r.Prompt)
	if err != nil {
		return nil, err
	}
	p.Ticket = string(id.NewAgent())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tickets = append(c.tickets, p.Ticket)
	return func(ctx context.Context) (any, error) { return c.prompt(ctx, p) }, nil
}

// prompt runs a turn. It is stopped when taken ends, and answered as one that was cancelled.
func (c *conversation) prompt(taken context.Context, p kernel.Prompt) (out sdk.PromptResponse, err error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tickets = slices.DeleteFunc(c.tickets, func(t string) bool { return t == p.Ticket })
	}()
	ctx := c.server.talk
	a, err := c.Store.Agent(ctx, c.agent)
	if err != nil {
		return out, err
	}
	c.mu.Lock()
	p.Model = c.model
	c.mu.Unlock()
	fresh := a.Head == a.Genesis || a.Own == 0
	if err := c.Prompts().Word(ctx, a, &p); err != nil {
		return out, err
	}
	if len(p.Files) > 0 {
		if err := c.Models().CheckSees(ctx, a.ID, p.Model); err != nil {
			return out, err
		}
	}
	defer context.AfterFunc(taken, func() { // it was taken back, wherever it runs
		if err := c.stop(c.server.ctx); err != nil {
			c.server.o.Log("stop: " + err.Error())
		}
	})()
	ran, err := c.run(ctx, session.Turn{Agent: c.agent, Prompt: p, Ask: asker{c.server}})
	if ran.Turn != nil {
		c.happen.wait(ran.Turn.ID())
	}
	if ran.Said { // now it is the agent's own
		c.mu.Lock()
		if c.model == p.Model {
			c.model = noModel
		}
		c.mu.Unlock()
	}
	if fresh && ran.Said {
		c.tellTitle(ctx)
		c.tellCommands(ctx) // a program tells its own when it runs
	}
	usage := spent(ran.Outcome.Usage)
	switch {
	case err == nil:
		return sdk.PromptResponse{StopReason: sdk.StopReasonEndTurn, Usage: usage}, nil
	case fault.Is(err, fault.Cancelled), fault.Is(err, fault.Interrupted), ctx.Err() != nil:
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled, Usage: usage}, nil
	}
	return out, err
}

// run runs a turn. If ctx ends, the turn does too, unless its kernel stays.
func (c *conversation) run(ctx context.Context, t session.Turn) (session.Ran, error) {
	if !c.stays {
		return c.Turns().Run(ctx, t)
	}
	t.Ask = nil // questions are forwarded already
	var ran session.Ran
	var err error
	over := make(chan struct{})
	go func() {
		defer close(over)
		ran, err = c.Turns().Run(context.WithoutCancel(ctx), t)
	}()
	select {
	case <-over:
		return ran, err
	case <-ctx.Done():
		return session.Ran{}, ctx.Err()
	}
}

func spent(u llm.Usage) *sdk.Usage {
	if u.Total() == 0 {
		return nil
	}
	read, write, thought := int(u.CacheRead), int(u.CacheWrite), int(u.Reasoning)
	return &sdk.Usage{InputTokens: int(u.Input), OutputTokens: int(u.Output), CachedReadTokens: &read, CachedWriteTokens: &write,
		ThoughtTokens: &thought, TotalTokens: int(u.Total())}
}

// cancel stops what a session does. Nobody waits for an answer to it: the prompt has one.
func (s *Server) cancel(m acp.Message) {
	r, err := params[sdk.CancelNotification](m.Params)
	var c *conversation
	if err == nil {
		c, err = s.find(r.SessionId)
	}
	if m.WantsAnswer() { // it is none of those that are only told; but who asks is answered
		if err != nil {
			s.conn.Answer(m.ID, nil, failure(err))
			return
		}
		defer s.conn.Answer(m.ID, struct{}{}, nil)
	}
	if err != nil {
		s.o.Log("cancel: " + err.Error())
		return
	}
	s.asked.Go(func() {
		if err := c.stop(s.ctx); err != nil {
			s.o.Log("cancel: " + err.Error())
		}
	})
}

// hangUp stops the turns of kernels that do not stay, and stops waiting for the others.
func (s *Server) hangUp() {
	var stopping sync.WaitGroup
	for _, c := range s.conversations() {
		stopping.Go(func() {
			if c.stays || !c.busy() {
				return
			}
			if _, err := c.Kernel.Interrupt(s.ctx, c.halting()); err != nil {
				s.o.Log("stop: " + err.Error())
			}
		})
	}
	stopping.Wait()
	s.silence()
}

func (c *conversation) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.tickets) > 0
}

// stop ends the turn of the session's agent, takes its prompts back that were not said yet, and
// returns when nothing of it runs.
func (c *conversation) stop(ctx context.Context) error {
	_, err := c.Turns().Stop(ctx, c.halting())
	return err
}

// halting returns the stop of the turn and of the prompts not sent yet.
func (c *conversation) halting() kernel.Stop {
	c.mu.Lock()
	defer c.mu.Unlock()
	stop := kernel.Stop{Agent: c.agent}
	if len(c.tickets) > 0 {
		stop.Ticket, stop.Also = c.tickets[0], slices.Clone(c.tickets[1:])
	}
	return stop
}

func said(blocks []sdk.ContentBlock) (p kernel.Prompt, err error) {
	var b strings.Builder
	var behind []string
	for _, one := range blocks {
		switch {
		case one.Text != nil:
			b.WriteString(one.Text.Text)
		case one.Image != nil:
			part, err := image(*one.Image)
			if err != nil {
				return p, err
			}
			p.Files = append(p.Files, part)
		case one.ResourceLink != nil:
			b.WriteString(mention(one.ResourceLink.Uri, one.ResourceLink.Name))
		case one.Resource != nil && one.Resource.Resource.TextResourceContents != nil:
			r := one.Resource.Resource.TextResourceContents
			b.WriteString(mention(r.Uri, ""))
			behind = append(behind, "The editor shows "+r.Uri+":\n\n"+r.Text)
		default:
			return p, fault.New(fault.InvalidField, "a part of the prompt is nothing that ramet takes").WithHint("it takes texts, images, links and embedded texts")
		}
	}
	p.Text = strings.Join(append([]string{b.String()}, behind...), "\n\n")
	if strings.TrimSpace(p.Text) == "" && len(p.Files) > 0 {
		p.Text = "[an image]"
	}
	return p, session.CheckPrompt(p.Text)
}

// mention is a file or an address in what was said.
func mention(uri, name string) string {
	// A path in an address is escaped: the file is called otherwise.
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") && u.Path != "" {
		if u.Fragment == "" {
			return u.Path
		}
		return u.Path + "#" + u.Fragment // which lines of it
	}
	if path, ok := strings.CutPrefix(uri, "file://"); ok {
		return path
	}
	if name == "" || name == uri {
		return uri
	}
	return name + " (" + uri + ")"
}

func image(b sdk.ContentBlockImage) (history.Part, error) {
	data, err := base64.StdEncoding.DecodeString(b.Data)
	if err != nil {
		return history.Part{}, fault.New(fault.InvalidField, "an image of the prompt is not base64: %w", err)
	}
	return session.AttachData("image", data)
}
