package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"ramet/internal/operation/public"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// Client asks one kernel.
type Client struct {
	owner string
	http  http.Client
	clean func(string) string // nil: nothing is taken out
}

// How long a kernel may take to say that it is there, to take news, and to end
// what it runs of the dead. One that was stopped (SIGSTOP) never does. Variables,
// so that tests need not wait.
var (
	helloWait = 5 * time.Second
	newsWait  = 5 * time.Second
)

const endWait = 30 * time.Second

// Dial reaches the kernel that holds leases under this name. One that is not of
// this machine, or does not answer, is LEASED.
func (p Folder) Dial(ctx context.Context, owner string) (*Client, error) {
	instance, ok := p.instance(owner)
	if !ok {
		return nil, unanswered(owner, nil)
	}
	c := p.client(owner, instance)
	if err := c.hello(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// hello finds out whether the kernel answers.
func (c *Client) hello(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, helloWait)
	defer cancel()
	_, err := ask[struct{}](soon, c, "/hello", struct{}{})
	switch {
	case ctx.Err() != nil:
		return llm.Ended(ctx)
	case soon.Err() != nil:
		return unanswered(c.owner, nil)
	}
	return err
}

func (p Folder) connect(ctx context.Context, instance string) (conn net.Conn, err error) {
	err = p.reach(instance, func(path string) error {
		var d net.Dialer
		conn, err = d.DialContext(ctx, "unix", path)
		return err
	})
	return conn, err
}

func (p Folder) client(owner, instance string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return p.connect(ctx, instance) }
	return &Client{owner: owner, clean: p.Clean, http: http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Owner is the name of the kernel.
func (c *Client) Owner() string { return c.owner }

// Tell hands news to every kernel of the workspace on this machine but one, and
// returns when they have acted upon it. Those that do not answer are passed over:
// they find out by themselves. It says how many did not answer though they live.
func (p Folder) Tell(ctx context.Context, but string, rings ...registry.Ring) (silent int) {
	return len(p.tell(ctx, but, rings...))
}

// tell is Tell, and says which instances were silent.
func (p Folder) tell(ctx context.Context, but string, rings ...registry.Ring) (silent []string) {
	wait := newsWait
	for _, r := range rings {
		if r.What == registry.RingKilled {
			wait = endWait
		}
	}
	return p.each(ctx, wait, but, "/ring", rings)
}

// Forget lets every kernel drop what it remembers of histories.
func (p Folder) Forget(ctx context.Context) (silent int) {
	return len(p.each(ctx, newsWait, "", "/forget", struct{}{}))
}

func (p Folder) each(ctx context.Context, wait time.Duration, but, path string, in any) []string {
	instances, err := p.instances()
	if err != nil {
		return nil // as if nobody were there
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var asked sync.WaitGroup
	var mu sync.Mutex
	var silent []string
	note := func(instance string) {
		mu.Lock()
		defer mu.Unlock()
		silent = append(silent, instance)
	}
	for _, i := range instances {
		if mine, ok := p.instance(but); ok && mine == i {
			continue
		}
		asked.Go(func() {
			c := p.client("", i)
			if wait > helloWait && c.hello(ctx) != nil {
				if _, err := os.Stat(p.lock(i)); err == nil && !p.gone(i) { // else it has just ended, and all that it ran with it
					note(i)
				}
				return
			}
			if _, err := ask[struct{}](ctx, c, path, in); err != nil && ctx.Err() != nil {
				note(i)
			}
		})
	}
	asked.Wait()
	return silent
}

// Fork forks an agent that the kernel holds.
func (c *Client) Fork(ctx context.Context, f registry.Fork, start kernel.StartMode) ([]agent.Agent, error) {
	return ask[[]agent.Agent](ctx, c, "/fork", forkRequest{f, start != kernel.StartLater, start == kernel.StartTask})
}

// Following are the limits of an agent's tools that end with its turn.
func (c *Client) Following(ctx context.Context, a id.Agent) ([]history.Limit, error) {
	return ask[[]history.Limit](ctx, c, "/following", a)
}

// Send sends a letter of an agent that the kernel holds.
func (c *Client) Send(ctx context.Context, s registry.Send) (mail.Letter, error) {
	return ask[mail.Letter](ctx, c, "/send", s)
}

// Exec runs a turn of an agent that the kernel holds, and shows what happens to it
// and its offspring. The turn stops when ctx ends.
func (c *Client) Exec(ctx context.Context, a id.Agent, p kernel.Prompt, wait bool, show func(loop.Event)) (loop.Outcome, error) {
	return c.exec(ctx, execRequest{Agent: a, Prompt: p, Wait: wait}, show)
}

// Hand gives a turn away for good: when ctx ends, or this process does, it goes on.
// Interrupt stops it.
func (c *Client) Hand(ctx context.Context, a id.Agent, p kernel.Prompt, show func(loop.Event)) (loop.Outcome, error) {
	return c.exec(ctx, execRequest{Agent: a, Prompt: p, Stay: true}, show)
}

// Interrupt stops the turn of an agent that the kernel holds, if there is one, and
// returns when it is over.
// false: there was none.
func (c *Client) Interrupt(ctx context.Context, s kernel.Stop) (bool, error) {
	return ask[bool](ctx, c, "/interrupt", s)
}

// Answer answers a question of the kernel (loop.Asking). CONFLICT: somebody was faster.
func (c *Client) Answer(ctx context.Context, question string, v permit.Verdict) error {
	_, err := ask[struct{}](ctx, c, "/answer", answerRequest{question, v})
	return err
}

// Question reads a question of the kernel that waits. NOT_FOUND: it is over.
func (c *Client) Question(ctx context.Context, question string) (permit.Question, error) {
	return ask[permit.Question](ctx, c, "/question", question)
}

// Order writes what a person decided about an agent that the kernel holds.
func (c *Client) Order(ctx context.Context, a id.Agent, d history.Draft) (history.Entry, error) {
	return ask[history.Entry](ctx, c, "/order", orderRequest{a, d})
}

func (c *Client) exec(ctx context.Context, r execRequest, show func(loop.Event)) (loop.Outcome, error) {
	answer, err := c.post(ctx, "/exec", r)
	if err != nil {
		return loop.Outcome{}, err
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	for {
		text, err := lines.ReadBytes('\n')
		var l public.Line
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		e := l.Event()
		switch {
		case err != nil && ctx.Err() != nil:
			return loop.Outcome{}, llm.Ended(ctx)
		case err != nil:
			return loop.Outcome{}, fault.New(fault.Interrupted, "the kernel %s ended before the turn did: %w", c.owner, err).
				WithHint("its history is whole; look with `ramet log`")
		case e.Type == public.Result && e.Outcome != nil:
			return *e.Outcome, e.Err
		}
		show(e)
	}
}

// post sends a request and returns a good answer, whose body is to be closed.
func (c *Client) post(ctx context.Context, path string, in any) (*http.Response, error) {
	var body bytes.Buffer
	if err := public.Encoder(&body).Encode(in); err != nil {
		return nil, fault.New(fault.Failed, "encode request: %w", err)
	}
	if c.clean != nil {
		clean := c.clean(body.String())
		body.Reset()
		body.WriteString(clean)
	}
	if turn, ok := in.(execRequest); ok && turn.Prompt.Environment != nil { // which has credentials, and is written nowhere
		if err := public.Encoder(&body).Encode(turn.Prompt.Environment); err != nil {
			return nil, fault.New(fault.Failed, "encode request: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://kernel"+path, &body)
	if err != nil {
		return nil, err
	}
	r.Header.Set(protocolHeader, protocol)
	attend(ctx, r.Header)
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
	var refused public.Error
	if err := json.NewDecoder(answer.Body).Decode(&refused); err != nil || refused.Code == "" {
		return nil, fault.New(fault.Failed, "the kernel %s answers %s", c.owner, answer.Status)
	}
	return nil, refused.Fault()
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
