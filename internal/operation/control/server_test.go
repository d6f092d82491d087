package control

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"ramet/internal/operation/public"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
)

func prompt(text string) kernel.Prompt { return kernel.Prompt{Text: text} }

func ignore(loop.Event) {}

func mailed(e loop.Event) bool { return e.Type == loop.Mailed }

func started(a id.Agent) func(loop.Event) bool {
	return func(e loop.Event) bool { return e.Type == loop.TurnStarted && e.Agent == a }
}

func TestVerbsInAnotherProcess(t *testing.T) {
	b := newBench(t)
	gate, open := b.pipe()
	p := b.process(fmt.Sprintf(`
{"when": "begin", "steps": [{"text": "so "}, {"wait": %q}, {"text": "be it"}]}
{"when": "mail", "steps": [{"call": "wait", "args": {"timeout": 3600}}]}
{"when": "hello <kid>", "steps": [{"text": "the post came"}]}
`, gate))
	c := b.dial(p.owner)
	ctx := t.Context()

	working, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		outcome, err := c.Exec(ctx, b.zero.ID, prompt("begin"), true, func(e loop.Event) {
			if e.Type == loop.TextDelta && e.Text == "so " {
				close(working)
			}
		})
		if err == nil && outcome.Text != "so be it" {
			err = fmt.Errorf("outcome %+v", outcome)
		}
		ended <- err
	}()
	<-working
	// Its holder is asked: here it is refused.
	fork := registry.Fork{Parent: b.zero.ID, Claim: agent.Passing(), Children: []registry.Child{{ID: id.NewAgent(), Name: "kid",
		Cwd: "/tmp", Entries: []history.Draft{{Kind: history.User, Parts: []history.Part{{Type: history.Text, Text: "a <b> & \u2028 \x01"}}}}}}}
	if _, err := b.store.Fork(ctx, fork); !fault.Is(err, fault.Leased) || !strings.Contains(err.Error(), p.owner) {
		t.Fatalf("%v", err)
	}
	born, err := c.Fork(ctx, fork, "")
	if err != nil || len(born) != 1 || born[0].ID != fork.Children[0].ID || born[0].Parent != b.zero.ID || born[0].Cwd != "/tmp" {
		t.Fatalf("%+v %v", born, err)
	}
	if found, err := b.store.Agent(ctx, born[0].ID); err != nil || found.Name != "kid" || !found.CreatedAt.Equal(born[0].CreatedAt) {
		t.Errorf("%+v %v", found, err)
	}
	b.expect(born[0].ID, "fork", "user")
	letter, err := c.Send(ctx, registry.Send{From: b.zero.ID, Claim: agent.Passing(), To: born[0].ID, Body: "hello <kid>"})
	if err != nil || letter.Number != 1 || letter.Body != "hello <kid>" {
		t.Errorf("%+v %v", letter, err)
	}
	open()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	b.expect(b.zero.ID, "fork", "user", "fork", "mail", "assistant", "usage")

	// The refusals of a kernel come back with their codes.
	if _, err := c.Fork(ctx, fork, ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("the same child twice: %v", err)
	}
	if _, err := c.Send(ctx, registry.Send{To: id.NewAgent(), Body: "x"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("to nobody: %v", err)
	}
	if _, err := c.Exec(ctx, id.NewAgent(), prompt("x"), true, ignore); !fault.Is(err, fault.NotFound) {
		t.Errorf("exec of nobody: %v", err)
	}

	// A letter wakes whoever waits for it there.
	outcome, err := c.Exec(ctx, born[0].ID, prompt("wait for mail"), true, func(e loop.Event) {
		if e.Type == loop.CallStarted { // the first letter is unread: it does not even wait
			b.place.Tell(ctx, "", registry.Ring{Agent: born[0].ID, What: registry.RingMail})
		}
	})
	if err != nil || outcome.Text != "the post came" {
		t.Errorf("%+v %v", outcome, err)
	}
}

func TestMailAndDeathsAreHeard(t *testing.T) {
	b := newBench(t)
	kid := b.child("kid")
	p := b.process(`
{"when": "listen", "steps": [{"call": "wait", "args": {"timeout": 3600, "agents": ["user"]}}]}
{"when": "hello", "steps": [{"text": "I heard"}]}
{"when": "again", "steps": [{"call": "wait", "args": {"timeout": 3600, "agents": ["user"]}}]}
`)
	c := b.dial(p.owner)
	waits := func(then func()) func(loop.Event) {
		return func(e loop.Event) {
			if e.Type == loop.CallStarted {
				then()
			}
		}
	}
	outcome, err := c.Exec(t.Context(), kid.ID, prompt("listen"), true, waits(func() {
		if _, err := b.store.Send(t.Context(), registry.Send{To: kid.ID, Body: "hello"}); err != nil {
			t.Error(err)
		}
		if n := b.place.Tell(t.Context(), "", registry.Ring{Agent: kid.ID, What: registry.RingMail}); n != 0 {
			t.Errorf("%d are silent", n)
		}
	}))
	if err != nil || outcome.Text != "I heard" {
		t.Errorf("%+v %v", outcome, err)
	}
	if _, _, err := b.store.Read(t.Context(), registry.Read{Owner: kid.ID, Claim: agent.Passing()}); err != nil {
		t.Fatal(err)
	}
	_, err = c.Exec(t.Context(), kid.ID, prompt("again"), true, waits(func() {
		if _, err := b.store.Kill(t.Context(), registry.Kill{Agent: kid.ID, Reason: "enough"}); err != nil {
			t.Error(err)
		}
		b.place.Tell(t.Context(), "", registry.Ring{Agent: kid.ID, What: registry.RingKilled})
	}))
	if !fault.Is(err, fault.DeadAgent) {
		t.Errorf("%v", err)
	}
	if got := b.kinds(kid.ID); got[len(got)-1] != "killed" {
		t.Errorf("%q", got)
	}
}

// forgetful counts.
type forgetful struct {
	*kernel.Kernel
	forgot chan struct{}
}

func (f forgetful) Forget() {
	f.Kernel.Forget()
	f.forgot <- struct{}{}
}

func TestEveryKernelForgets(t *testing.T) {
	b := newBench(t)
	forgot := make(chan struct{}, 3)
	for range 3 {
		b.serveAs("", func(k *kernel.Kernel) Kernel { return forgetful{k, forgot} })
	}
	if n := b.place.Forget(t.Context()); n != 0 || len(forgot) != 3 {
		t.Errorf("%d forgot, %d are silent", len(forgot), n)
	}
}

func TestTheTellerIsNotTold(t *testing.T) {
	b := newBench(t)
	one, two := b.serve(""), b.serve("")
	seen, enough := one.Events.Subscribe(t.Context())
	rung := until(t, &two.Events, mailed)
	b.place.Tell(t.Context(), one.server.Owner, registry.Ring{Agent: b.zero.ID, What: registry.RingMail})
	rung()
	enough()
	for e := range seen {
		if mailed(e) {
			t.Error("it was told what it told")
		}
	}
}

// raw speaks to a socket without a client.
func (b *bench) raw(s *Server) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return b.place.connect(ctx, s.instance)
	}}}
}

func TestBadRequestsAreAnswered(t *testing.T) {
	b := newBench(t)
	k := b.serve("")
	deep := strings.Repeat(`[`, 100_000)
	for name, c := range map[string]struct {
		method, path, version, body string
		says                        string
	}{
		"no version":           {"POST", "/send", "", `{}`, "version"},
		"another version":      {"POST", "/send", "1", `{}`, "version"},
		"unknown route":        {"POST", "/dance", protocol, `{}`, "knows no POST"},
		"the root":             {"GET", "/", protocol, ``, "knows no GET"},
		"wrong method":         {"GET", "/send", protocol, ``, "knows no GET"},
		"another wrong method": {"DELETE", "/fork", protocol, ``, "knows no DELETE"},
		"a path that climbs":   {"POST", "/../send", protocol, `{}`, ""},
		"empty":                {"POST", "/send", protocol, ``, "read request"},
		"no JSON":              {"POST", "/fork", protocol, `hello`, "read request"},
		"cut":                  {"POST", "/fork", protocol, `{"Fork": {`, "read request"},
		"wrong type":           {"POST", "/exec", protocol, `{"Agent": 7}`, "read request"},
		"a list":               {"POST", "/exec", protocol, `[]`, "read request"},
		"unknown field":        {"POST", "/send", protocol, `{"Sender": "x"}`, "unknown field"},
		"unknown inner field":  {"POST", "/fork", protocol, `{"Fork": {"Claim": {"owner": "me"}}}`, "unknown field"},
		"something behind":     {"POST", "/send", protocol, `{} {}`, "follows"},
		"too deep":             {"POST", "/ring", protocol, deep, "read request"},
		"null":                 {"POST", "/fork", protocol, `null`, ""},
		"nothing at all":       {"POST", "/fork", protocol, `{}`, ""},
		"a turn of nobody":     {"POST", "/exec", protocol, `{}`, ""},
		"odd agent":            {"POST", "/exec", protocol, `{"Agent": "../../etc/passwd\u0000"}`, ""},
		"odd child":            {"POST", "/fork", protocol, `{"Fork": {"Parent": "` + string(b.zero.ID) + `", "Children": [{"ID": "x"}]}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), c.method, "http://kernel"+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if c.version != "" {
				r.Header.Set(protocolHeader, c.version)
			}
			answer, err := b.raw(k.server).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode == http.StatusOK && strings.Contains(string(text), `"turn_ended"`) {
				return // its stream says what is wrong
			}
			var refused public.Error
			if err := json.Unmarshal(text, &refused); err != nil || refused.Code == "" || !strings.Contains(refused.Message, c.says) {
				t.Errorf("%s %q %v", answer.Status, text, err)
			}
		})
	}
	b.expect(b.zero.ID, "fork") // nothing was done
	b.dial(k.server.Owner)
}

func TestARequestThatIsTooLarge(t *testing.T) {
	b := newBench(t)
	k := b.serve("")
	for name, head := range map[string]string{
		"body":   fmt.Sprintf("POST /send HTTP/1.1\r\nHost: k\r\n%s: %s\r\nContent-Length: %d\r\n\r\n{", protocolHeader, protocol, maxBody+1),
		"header": "POST /send HTTP/1.1\r\nHost: k\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n{}",
		"line":   "POST /" + strings.Repeat("x", 1<<20) + " HTTP/1.1\r\nHost: k\r\n\r\n{}",
		"noise":  "\x16\x03\x01\x02\x00\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := b.place.connect(t.Context(), k.server.instance)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go io.WriteString(conn, head) // it may be cut off
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				t.Error(answer.Status)
			}
		})
	}
	b.dial(k.server.Owner)
}

// Clients that are slow or silent do not stay for ever.
func TestPatienceWithClientsHasAnEnd(t *testing.T) {
	b := newBench(t)
	s := &b.serve("").server.http
	if s.ReadHeaderTimeout <= 0 || s.IdleTimeout <= 0 || s.MaxHeaderBytes > 64<<10 || s.MaxHeaderBytes <= 0 || s.ErrorLog == nil {
		t.Errorf("%+v", s)
	}
}

// brittle breaks.
type brittle struct{ *kernel.Kernel }

func (brittle) Send(context.Context, registry.Send) (mail.Letter, error) { panic("brittle") }

func TestAPanicIsAnAnswer(t *testing.T) {
	b := newBench(t)
	k := b.serveAs("", func(k *kernel.Kernel) Kernel { return brittle{k} })
	_, err := b.dial(k.server.Owner).Send(t.Context(), registry.Send{})
	if !fault.Is(err, fault.Failed) || !strings.Contains(err.Error(), "brittle") || strings.Contains(err.Error(), ".go:") {
		t.Errorf("%v", err)
	}
	b.dial(k.server.Owner)
}

func TestAStreamIsOfOneFamilyAndInOrder(t *testing.T) {
	b := newBench(t)
	stranger := b.child("stranger")
	k := b.serve(`
{"when": "strange", "steps": [{"text": "one"}, {"wait": "stranger"}, {"text": "two"}]}
{"when": "divide", "steps": [{"text": "I divide"}, {"call": "fork", "args": {"prompt": "task A", "name": "a"}}]}
{"when": "task A", "steps": [{"text": "deeper"}, {"call": "fork", "args": {"prompt": "task B", "name": "b"}}]}
{"when": "task B", "steps": [{"text": "b is done"}]}
{"when": "works on", "repeat": true, "steps": [{"text": "on it goes"}]}
{"when": "Your turn is not over", "repeat": true, "steps": [{"text": "on it goes"}]}
`)
	began := until(t, &k.Events, started(stranger.ID))
	turn, err := k.Exec(t.Context(), stranger.ID, prompt("strange"))
	if err != nil {
		t.Fatal(err)
	}
	began()
	all, enough := k.Events.Subscribe(t.Context())
	var got []loop.Event
	outcome, err := b.dial(k.server.Owner).Exec(t.Context(), b.zero.ID, prompt("divide"), true, func(e loop.Event) { got = append(got, e) })
	if err != nil || outcome.Text != "on it goes" {
		t.Fatalf("%+v %v", outcome, err)
	}
	b.gates.Open("stranger")
	if _, err := turn.Wait(); err != nil {
		t.Error(err)
	}
	enough()
	family := Family{b.zero.ID: true}
	var want []string
	for e := range all {
		if family.Knows(e) {
			want = append(want, line(t, e))
		}
	}
	var have []string
	ends := map[id.Agent]bool{}
	for _, e := range got {
		have = append(have, line(t, e))
		if e.Agent == stranger.ID {
			t.Errorf("an event of a stranger: %+v", e)
		}
		ends[e.Agent] = ends[e.Agent] || e.Type == loop.TurnEnded
	}
	if !slices.Equal(have, want[:min(len(have), len(want))]) || len(want) < len(have) {
		t.Errorf("have\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	if len(family) != 3 || len(ends) != 3 || !ends[b.zero.ID] {
		t.Errorf("the family is %v, ended are %v", family, ends)
	}
}

func line(t *testing.T, e loop.Event) string {
	t.Helper()
	text, err := json.Marshal(public.Format(e))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheTurnIsTheOneAskedFor(t *testing.T) {
	b := newBench(t)
	k := b.serve(`
{"when": "first", "steps": [{"wait": "first"}, {"text": "one"}]}
{"when": "second", "steps": [{"text": "two"}]}
`)
	began := until(t, &k.Events, started(b.zero.ID))
	first, err := k.Exec(t.Context(), b.zero.ID, prompt("first"))
	if err != nil {
		t.Fatal(err)
	}
	began()
	c := b.dial(k.server.Owner)
	type ending struct {
		loop.Outcome
		err error
	}
	over := make(chan ending, 1)
	ended := 0
	go func() {
		o, err := c.Exec(t.Context(), b.zero.ID, prompt("second"), true, func(e loop.Event) {
			if e.Type == loop.TurnEnded {
				ended++
			}
		})
		over <- ending{o, err}
	}()
	b.queued(k, 1)
	b.gates.Open("first")
	if o, err := first.Wait(); err != nil || o.Text != "one" {
		t.Errorf("%+v %v", o, err)
	}
	if got := <-over; got.err != nil || got.Text != "two" || ended != 2 {
		t.Errorf("%+v after %d ends", got, ended)
	}
	b.expect(b.zero.ID, "fork", "user", "assistant", "usage", "user", "assistant", "usage")
}

// queued returns when so many turns are being answered.
func (b *bench) queued(k *served, n int) {
	b.t.Helper()
	testkit.WaitUntil(b.t, "turns are being answered", func() bool {
		k.server.mu.Lock()
		defer k.server.mu.Unlock()
		return k.server.turns == n
	})
}

func TestTheQueueOfTheDeadIsAnswered(t *testing.T) {
	b := newBench(t)
	kid := b.child("kid")
	k := b.serve(`{"when": "first", "steps": [{"wait": "never"}]}`)
	began := until(t, &k.Events, started(kid.ID))
	first, err := k.Exec(t.Context(), kid.ID, prompt("first"))
	if err != nil {
		t.Fatal(err)
	}
	began()
	over := make(chan error, 1)
	go func() {
		_, err := b.dial(k.server.Owner).Exec(t.Context(), kid.ID, prompt("second"), true, ignore)
		over <- err
	}()
	b.queued(k, 1)
	if _, err := k.Kill(t.Context(), registry.Kill{Agent: kid.ID, Reason: "enough"}); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Wait(); !fault.Is(err, fault.DeadAgent) {
		t.Errorf("%v", err)
	}
	if err := <-over; !fault.Is(err, fault.DeadAgent) {
		t.Errorf("%v", err)
	}
	b.expect(kid.ID, "fork", "user", "killed")
}

func TestAClientThatGoesStopsItsTurn(t *testing.T) {
	b := newBench(t)
	k := b.serve(`{"steps": [{"text": "I begin"}, {"wait": "never"}]}`)
	ctx, leave := context.WithCancel(t.Context())
	_, err := b.dial(k.server.Owner).Exec(ctx, b.zero.ID, prompt("go"), true, func(e loop.Event) {
		if e.Type == loop.TextDelta {
			leave()
		}
	})
	if !fault.Is(err, fault.Cancelled) {
		t.Errorf("%v", err)
	}
	if err := k.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.expect(b.zero.ID, "fork", "user", "usage", "interrupted")
}

func TestAKernelThatDiesInTheMiddle(t *testing.T) {
	b := newBench(t)
	p := b.process(`{"steps": [{"text": "I begin"}, {"wait": "/dev/tty-that-is-not-there"}]}`)
	gate, _ := b.pipe()
	q := b.process(fmt.Sprintf(`{"steps": [{"text": "I begin"}, {"wait": %q}]}`, gate))
	_, err := b.dial(q.owner).Exec(t.Context(), b.zero.ID, prompt("go"), true, func(e loop.Event) {
		if e.Type == loop.TextDelta {
			q.kill()
		}
	})
	if !fault.Is(err, fault.Interrupted) || !strings.Contains(err.Error(), q.owner) {
		t.Errorf("%v", err)
	}
	if !b.place.Gone(q.owner) || b.place.Gone(p.owner) {
		t.Error("the wrong one is gone")
	}
	b.expect(b.zero.ID, "fork", "user")
}

func TestACloseInTheMiddle(t *testing.T) {
	b := newBench(t)
	k := b.serve(`{"steps": [{"text": "I begin"}, {"wait": "never"}]}`)
	var closing bool
	_, err := b.dial(k.server.Owner).Exec(t.Context(), b.zero.ID, prompt("go"), true, func(e loop.Event) {
		if e.Type == loop.TextDelta && !closing {
			closing = true
			go k.server.Close()
		}
	})
	if !fault.Is(err, fault.Interrupted) {
		t.Errorf("%v", err)
	}
	if err := k.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.expect(b.zero.ID, "fork", "user", "usage", "interrupted")
}

// A process that is done finishes what others asked of it, and answers meanwhile.
func TestFinish(t *testing.T) {
	b := newBench(t)
	k := b.serve(`
{"when": "first", "steps": [{"text": "I begin"}, {"wait": "first"}, {"text": ", I end"}]}
{"when": "Your turn is not over", "repeat": true, "steps": [{"text": "I begin, I end"}]}
{"when": "last", "steps": [{"text": "never"}]}
`)
	c := b.dial(k.server.Owner)
	var begun sync.Once
	working, over, finished := make(chan struct{}), make(chan error, 1), make(chan struct{})
	go func() {
		o, err := c.Exec(t.Context(), b.zero.ID, prompt("first"), true, func(e loop.Event) {
			if e.Type == loop.TextDelta {
				begun.Do(func() { close(working) })
			}
		})
		if err == nil && o.Text != "I begin, I end" {
			err = fmt.Errorf("%+v", o)
		}
		over <- err
	}()
	<-working
	go func() {
		k.server.Finish(t.Context())
		close(finished)
	}()
	if _, err := c.Send(t.Context(), registry.Send{To: b.zero.ID, Body: "still there?"}); err != nil {
		t.Error(err)
	}
	select {
	case <-finished:
		t.Error("it finished under a turn")
	default:
	}
	b.gates.Open("first")
	if err := <-over; err != nil {
		t.Error(err)
	}
	<-finished
	if _, err := c.Exec(t.Context(), b.zero.ID, prompt("last"), true, ignore); !fault.Is(err, fault.Leased) {
		t.Errorf("%v", err)
	}
	if _, err := c.Send(t.Context(), registry.Send{To: b.zero.ID, Body: "and now?"}); err != nil {
		t.Error(err)
	}
}

func TestFinishEndsWithItsContext(t *testing.T) {
	b := newBench(t)
	k := b.serve(`{"steps": [{"text": "I begin"}, {"wait": "never"}]}`)
	told, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	working := until(t, &k.Events, started(b.zero.ID))
	go func() {
		_, err := b.dial(k.server.Owner).Exec(t.Context(), b.zero.ID, prompt("go"), true, ignore)
		over <- err
	}()
	working()
	stop()
	k.server.Finish(told)
	k.Stop()
	if err := <-over; !fault.Is(err, fault.Interrupted) {
		t.Errorf("%v", err)
	}
}
