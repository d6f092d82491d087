package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/turn/loop"
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
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, socket) }}}
}

// dialSocket connects to a socket.
func dialSocket(ctx context.Context, socket string) (conn net.Conn, err error) {
	err = reach(socket, func(path string) error {
		conn, err = new(net.Dialer).DialContext(ctx, "unix", path)
		return err
	})
	return conn, err
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

func (p Folder) client(owner, instance string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, p.sock(instance)) }
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

// NewRequest returns a request to a kernel whose body is in, in JSON; nil: it has none.
func NewRequest(ctx context.Context, method, url string, in any) (*http.Request, error) {
	var body bytes.Buffer
	if in != nil {
		if err := public.Encoder(&body).Encode(in); err != nil {
			return nil, fault.New(fault.Failed, "encode request: %w", err)
		}
	}
	return http.NewRequestWithContext(ctx, method, url, &body)
}

// WriteAnswer answers a client of the background kernel with an output or an error.
func WriteAnswer(w io.Writer, out any, err error) {
	_ = public.Encoder(w).Encode(struct { // a client that is gone needs no answer
		Output any           `json:"output,omitempty"`
		Error  *public.Error `json:"error,omitempty"`
	}{out, public.FormatError(err)})
}

// ReadAnswer reads what WriteAnswer wrote. broken is why there is no answer, err the error that it holds.
func ReadAnswer(from *json.Decoder, out any) (broken, err error) {
	var got struct {
		Output json.RawMessage
		Error  *public.Error
	}
	switch broken := from.Decode(&got); {
	case broken != nil:
		return broken, nil
	case got.Error != nil:
		return nil, got.Error.Fault()
	case out == nil || len(got.Output) == 0:
		return nil, nil
	}
	return nil, json.Unmarshal(got.Output, out)
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

// actorHeader names the person for whom a request is sent, so that a verb that another kernel carries out records
// that person. The socket is the user's own: a client that reaches it may set the header.
const actorHeader = "Ramet-Actor"

// attend puts the person of ctx into a request.
func attend(ctx context.Context, h http.Header) {
	a := history.ActorOf(ctx)
	if a == nil {
		return
	}
	if text, err := json.Marshal(a); err == nil {
		h.Set(actorHeader, url.QueryEscape(string(text)))
	}
}

// attended returns the context of a request, with its person.
func attended(r *http.Request) context.Context {
	text, err := url.QueryUnescape(r.Header.Get(actorHeader))
	var a history.Actor
	if err != nil || json.Unmarshal([]byte(text), &a) != nil || a == (history.Actor{}) {
		return r.Context()
	}
	return history.By(r.Context(), a)
}

// maxPath limits the path of a socket to the length that every system accepts.
const maxPath = 100

// reach calls use with a path of the socket that is short enough for the system.
// On Linux a long one is walked from its folder, which is opened for that.
func reach(path string, use func(path string) error) error {
	if len(path) <= maxPath {
		return use(path)
	}
	if runtime.GOOS != "linux" {
		return fault.New(fault.InvalidConfig, "the path of the socket %s is too long for this system", path).
			WithHint("choose a shorter home with --home or RAMET_HOME")
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return use(filepath.Join(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), filepath.Base(path)))
}

// stateWait limits the wait for the states of another kernel: a face waits for them to draw.
const stateWait = 150 * time.Millisecond

// States asks the kernel of that name what its agents do; not ok: it is not of this
// machine, or does not answer at once.
func (p Folder) States(ctx context.Context, owner string) (map[id.Agent]state.State, bool) {
	ctx, cancel := context.WithTimeout(ctx, stateWait)
	defer cancel()
	out, err := p.askStates(ctx, owner)
	return out, err == nil
}

// AskStates returns what the agents of another kernel do, and waits for it longer than States. LEASED: the kernel does not
// answer.
func (p Folder) AskStates(ctx context.Context, owner string) (map[id.Agent]state.State, error) {
	if err := p.Answers(ctx, owner); err != nil {
		return nil, err
	}
	return p.askStates(ctx, owner)
}

func (p Folder) askStates(ctx context.Context, owner string) (map[id.Agent]state.State, error) {
	c, err := p.reachOwner(owner)
	if err != nil {
		return nil, err
	}
	return ask[map[id.Agent]state.State](ctx, c, "/states", struct{}{})
}

// Kernels returns the names of the kernels that live on this machine.
func (p Folder) Kernels() []string {
	instances, err := p.instances()
	if err != nil {
		return nil // the holders of agents are asked all the same
	}
	out := make([]string, len(instances))
	for i, one := range instances {
		out[i] = p.owner(one)
	}
	return out
}

// Held returns the owners of the agents that are held now.
func Held(ctx context.Context, l agent.Leases) (map[id.Agent]string, error) {
	leased, now, err := l.Leased(ctx)
	if err != nil {
		return nil, err
	}
	out := map[id.Agent]string{}
	for _, a := range leased {
		if a.Lease.Live(now) {
			out[a.ID] = a.Lease.Owner
		}
	}
	return out, nil
}

// Reap lets the kernels of this machine, but one, end what they run of the dead. Nothing of the dead runs when it returns
// without an error. held has the agents that a kernel held before: no other agent had anything running.
func (p Folder) Reap(ctx context.Context, but string, held map[id.Agent]string, rings ...registry.Ring) error {
	silent := p.tell(ctx, but, rings...)
	for _, r := range rings {
		owner := held[r.Agent]
		instance, near := p.instance(owner)
		if owner != "" && owner != but && (!near || slices.Contains(silent, instance)) && len(silent) > 0 && !p.Gone(owner) {
			return fault.New(fault.Leased, "agent %s is dead, but %s, which ran it, does not answer: its commands may still run", r.Agent.Short(), owner).
				WithHint("let that process continue, or end it; what it runs for dead agents ends with it")
		}
	}
	return nil
}

// Deaths returns what kernels are told of a kill: also of an agent that died before, if its killer did not come to tell.
func Deaths(k registry.Killed) []registry.Ring {
	out := []registry.Ring{{Agent: k.Agent.ID, What: registry.RingKilled}}
	for _, v := range k.Victims {
		if v.ID != k.Agent.ID {
			out = append(out, registry.Ring{Agent: v.ID, What: registry.RingKilled})
		}
	}
	return out
}

// Family is an agent and those forked since it is watched.
type Family map[id.Agent]bool

// Knows reports whether an event is about one of the family, and adds the agents that it forks.
func (f Family) Knows(e loop.Event) bool {
	if !f[e.Agent] {
		return e.Agent == "" // about the kernel
	}
	for _, c := range e.Children {
		f[c] = true
	}
	return true
}
