package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	"ramet/internal/agent"
	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/llm"
	"ramet/internal/loop"
	"ramet/internal/mail"
	"ramet/internal/proc"
	"ramet/internal/registry"
)

// Client asks one kernel.
type Client struct {
	owner string
	http  http.Client
}

// Dial reaches the kernel that holds leases under this name. One that is not of
// this machine, or does not answer, is LEASED.
func (p Place) Dial(ctx context.Context, owner string) (*Client, error) {
	instance, ok := p.instance(owner)
	if !ok {
		return nil, unanswered(owner, nil)
	}
	conn, err := p.connect(ctx, instance)
	if err != nil {
		return nil, unanswered(owner, err)
	}
	conn.Close()
	return p.client(owner, instance), nil
}

func (p Place) connect(ctx context.Context, instance string) (conn net.Conn, err error) {
	err = p.reach(instance, func(path string) error {
		var d net.Dialer
		conn, err = d.DialContext(ctx, "unix", path)
		return err
	})
	return conn, err
}

func (p Place) client(owner, instance string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return p.connect(ctx, instance) }
	return &Client{owner: owner, http: http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Tell hands news to every kernel of the workspace on this machine but one, and
// returns when they have acted upon it. Those that do not answer are passed over:
// they find out by themselves.
func (p Place) Tell(ctx context.Context, but string, rings ...registry.Ring) {
	p.each(ctx, but, "/ring", rings)
}

// Forget lets every kernel drop what it remembers of histories.
func (p Place) Forget(ctx context.Context) { p.each(ctx, "", "/forget", struct{}{}) }

func (p Place) each(ctx context.Context, but, path string, in any) {
	instances, err := p.instances()
	if err != nil {
		return // as if nobody were there
	}
	var asked sync.WaitGroup
	for _, i := range instances {
		if mine, ok := p.instance(but); ok && mine == i {
			continue
		}
		asked.Go(func() { ask[struct{}](ctx, p.client("", i), path, in) })
	}
	asked.Wait()
}

// Fork forks an agent that the kernel holds.
func (c *Client) Fork(ctx context.Context, f registry.Fork, start bool) ([]agent.Agent, error) {
	return ask[[]agent.Agent](ctx, c, "/fork", forkRequest{f, start})
}

// Send sends a letter of an agent that the kernel holds.
func (c *Client) Send(ctx context.Context, s registry.Send) (mail.Letter, error) {
	return ask[mail.Letter](ctx, c, "/send", s)
}

// Exec runs a turn of an agent that the kernel holds, and shows what happens to it
// and its offspring. The turn stops when ctx ends.
func (c *Client) Exec(ctx context.Context, a id.Agent, p proc.Prompt, wait bool, show func(loop.Event)) (loop.Outcome, error) {
	answer, err := c.post(ctx, "/exec", execRequest{a, p, wait})
	if err != nil {
		return loop.Outcome{}, err
	}
	defer answer.Body.Close()
	turn := answer.Header.Get(turnHeader)
	var outcome loop.Outcome
	ended, over := error(nil), false
	lines := bufio.NewReader(answer.Body)
	for {
		text, err := lines.ReadBytes('\n')
		var l Line
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		switch {
		case errors.Is(err, io.EOF) && over:
			return outcome, ended
		case err != nil && ctx.Err() != nil:
			return outcome, llm.Ended(ctx)
		case err != nil:
			return outcome, fault.New(fault.Interrupted, "the kernel %s ended before the turn did: %w", c.owner, err).
				WithHint("its history is whole; look with `ramet log`")
		}
		e := l.Event()
		if e.Type == loop.TurnEnded && strconv.FormatInt(e.Turn, 10) == turn && e.Outcome != nil {
			outcome, ended, over = *e.Outcome, e.Err, true
		}
		show(e)
	}
}

// post sends a request and returns a good answer, whose body is to be closed.
func (c *Client) post(ctx context.Context, path string, in any) (*http.Response, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, fault.New(fault.Failed, "encode request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://kernel"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set(protocolHeader, protocol)
	answer, err := c.http.Do(r)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, llm.Ended(ctx)
	case err != nil:
		return nil, unanswered(c.owner, err)
	case answer.StatusCode == http.StatusOK:
		return answer, nil
	}
	defer answer.Body.Close()
	var refused Error
	if err := json.NewDecoder(answer.Body).Decode(&refused); err != nil || refused.Code == "" {
		return nil, fault.New(fault.Failed, "the kernel %s answers %s", c.owner, answer.Status)
	}
	return nil, refused.fault()
}

func ask[Out any](ctx context.Context, c *Client, path string, in any) (out Out, err error) {
	answer, err := c.post(ctx, path, in)
	if err != nil {
		return out, err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil {
		return out, fault.New(fault.Failed, "read the answer of the kernel %s: %w", c.owner, err)
	}
	return out, nil
}
