package control

import (
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
	"ramet/internal/core/registry"
	"ramet/internal/model/llm"
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

// Answers asks the kernel that holds leases under this name whether it is there. One that is not of this machine, or does
// not answer, is LEASED.
func (p Folder) Answers(ctx context.Context, owner string) error {
	c, err := p.reachOwner(owner)
	if err != nil {
		return err
	}
	return c.hello(ctx)
}

// Notify rings for one kernel, and returns when it has acted upon it.
func (p Folder) Notify(ctx context.Context, owner string, rings ...registry.Ring) error {
	c, err := p.reachOwner(owner)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	_, err = ask[struct{}](ctx, c, "/ring", rings)
	return err
}

// greeting is the answer of a kernel to hello.
type greeting struct {
	Own bool `json:"own"` // whether it started the command that asks
}

// ClientOfCommand returns a client of the kernel that started the command to which this process belongs; nil: none did. All
// kernels are asked at once, and a busy one may take its time: what an agent's command asks of another one is LEASED.
func (p Folder) ClientOfCommand(ctx context.Context) *http.Client {
	ctx, cancel := context.WithTimeout(ctx, helloWait)
	defer cancel()
	owners := p.Kernels()
	answers := make(chan *http.Client, len(owners))
	for _, owner := range owners {
		go func() {
			c, err := p.reachOwner(owner)
			if err == nil {
				if hello, err := ask[greeting](ctx, c, "/hello", struct{}{}); err == nil && hello.Own {
					answers <- &c.http
					return
				}
			}
			answers <- nil
		}()
	}
	for range owners {
		if c := <-answers; c != nil {
			return c
		}
	}
	return nil
}

// ClientAt returns a client of the kernel that listens at a path.
func ClientAt(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
		err = reach(socket, func(path string) error {
			conn, err = new(net.Dialer).DialContext(ctx, "unix", path)
			return err
		})
		return conn, err
	}}}
}

// reachOwner returns the client of the kernel of this name; LEASED: it is not of this machine.
func (p Folder) reachOwner(owner string) (*Client, error) {
	instance, ok := p.instance(owner)
	if !ok {
		return nil, unanswered(owner, nil)
	}
	return p.client(owner, instance), nil
}

// hello finds out whether the kernel answers.
func (c *Client) hello(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, helloWait)
	defer cancel()
	_, err := ask[greeting](soon, c, "/hello", struct{}{})
	switch {
	case ctx.Err() != nil:
		return llm.Ended(ctx)
	case soon.Err() != nil:
		return unanswered(c.owner, nil)
	}
	return err
}

func (p Folder) connect(ctx context.Context, instance string) (conn net.Conn, err error) {
	err = reach(p.sock(instance), func(path string) error {
		conn, err = new(net.Dialer).DialContext(ctx, "unix", path)
		return err
	})
	return conn, err
}

func (p Folder) client(owner, instance string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return p.connect(ctx, instance) }
	return &Client{owner: owner, clean: p.Clean, http: http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

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
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://kernel"+path, &body)
	if err != nil {
		return nil, err
	}
	SetVersion(r)
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

// SetVersion marks a request with the version of the protocol, which kernels require.
func SetVersion(r *http.Request) { r.Header.Set(protocolHeader, protocol) }

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
