package control

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/operation/public"
	"ramet/internal/testkit"
)

// What is asked of a kernel reaches it, with the person who asks.
func TestAKernelIsAsked(t *testing.T) {
	b := newBench(t)
	one, two := b.serve(), b.serve()
	one.states = map[id.Agent]state.State{"ada": {Word: state.Working, Detail: "runs <bash>"}}
	ctx := history.By(t.Context(), history.Actor{Who: "eve", Face: history.CLI})
	if got, err := b.place.AskStates(ctx, one.server.Owner); err != nil || got["ada"] != one.states["ada"] {
		t.Errorf("%v %v", got, err)
	}
	if got, ok := b.place.States(ctx, one.server.Owner); !ok || got["ada"] != one.states["ada"] {
		t.Errorf("%v %v", got, ok)
	}
	stop := registry.Ring{Agent: "ada", What: registry.RingStop}
	if err := b.place.Notify(ctx, one.server.Owner, stop); err != nil || one.rung(t) != stop {
		t.Error(err)
	}
	if by := <-one.actors; by == nil || by.Who != "eve" {
		t.Errorf("asked by %+v", by)
	}
	// All are told but the teller.
	killed := registry.Ring{Agent: "ada", What: registry.RingKilled}
	if n := b.place.Tell(ctx, one.server.Owner, killed); n != 0 || two.rung(t) != killed || len(one.rings) != 0 {
		t.Errorf("%d are silent, the teller heard %d", n, len(one.rings))
	}
	if n := b.place.Forget(ctx); n != 0 || len(one.forgot) != 1 || len(two.forgot) != 1 {
		t.Errorf("%d are silent, %d and %d forgot", n, len(one.forgot), len(two.forgot))
	}
	two.server.Close()
	if _, err := b.place.AskStates(ctx, two.server.Owner); !fault.Is(err, fault.Leased) {
		t.Errorf("a kernel that is closed: %v", err)
	}
}

// raw speaks to a socket without a client.
func (b *bench) raw(s *Server) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialSocket(ctx, s.Socket())
	}}}
}

func TestBadRequestsAreAnswered(t *testing.T) {
	b := newBench(t)
	k := b.serve()
	for name, c := range map[string]struct {
		method, path, version, body string
		says                        string
	}{
		"no version":       {"POST", "/ring", "", `[]`, "version"},
		"another version":  {"POST", "/ring", "1", `[]`, "version"},
		"unknown route":    {"POST", "/dance", protocol, `{}`, "knows no POST"},
		"the root":         {"GET", "/", protocol, ``, "knows no GET"},
		"wrong method":     {"GET", "/ring", protocol, ``, "knows no GET"},
		"empty":            {"POST", "/ring", protocol, ``, "read request"},
		"no JSON":          {"POST", "/ring", protocol, `hello`, "read request"},
		"cut":              {"POST", "/ring", protocol, `[{"Agent": `, "read request"},
		"wrong type":       {"POST", "/ring", protocol, `{"Agent": 7}`, "read request"},
		"unknown field":    {"POST", "/ring", protocol, `[{"Sender": "x"}]`, "unknown field"},
		"something behind": {"POST", "/ring", protocol, `[] []`, "follows"},
		"too deep":         {"POST", "/ring", protocol, strings.Repeat(`[`, 100_000), "read request"},
	} {
		t.Run(name, func(t *testing.T) {
			r := testkit.Must(http.NewRequestWithContext(t.Context(), c.method, "http://kernel"+c.path, strings.NewReader(c.body)))(t)
			if c.version != "" {
				r.Header.Set(protocolHeader, c.version)
			}
			answer := testkit.Must(b.raw(k.server).Do(r))(t)
			defer answer.Body.Close()
			text := testkit.Must(io.ReadAll(answer.Body))(t)
			var refused public.Error
			if err := json.Unmarshal(text, &refused); err != nil || refused.Code == "" || !strings.Contains(refused.Message, c.says) {
				t.Errorf("%s %q %v", answer.Status, text, err)
			}
		})
	}
	if len(k.rings) > 0 {
		t.Error("it rang")
	}
	b.answers(k.server.Owner)
}

func TestARequestThatIsTooLarge(t *testing.T) {
	b := newBench(t)
	k := b.serve()
	for name, head := range map[string]string{
		"body":   fmt.Sprintf("POST /ring HTTP/1.1\r\nHost: k\r\n%s: %s\r\nContent-Length: %d\r\n\r\n{", protocolHeader, protocol, maxBody+1),
		"header": "POST /ring HTTP/1.1\r\nHost: k\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n{}",
		"line":   "POST /" + strings.Repeat("x", 1<<20) + " HTTP/1.1\r\nHost: k\r\n\r\n{}",
		"noise":  "\x16\x03\x01\x02\x00\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn := testkit.Must(dialSocket(t.Context(), k.server.Socket()))(t)
			defer conn.Close()
			go io.WriteString(conn, head) // it may be cut off
			answer := testkit.Must(http.ReadResponse(bufio.NewReader(conn), nil))(t)
			defer answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				t.Error(answer.Status)
			}
		})
	}
	b.answers(k.server.Owner)
}

// Clients that are slow or silent do not stay for ever.
func TestPatienceWithClientsHasAnEnd(t *testing.T) {
	b := newBench(t)
	s := &b.serve().server.http
	if s.ReadHeaderTimeout <= 0 || s.IdleTimeout <= 0 || s.MaxHeaderBytes > 64<<10 || s.MaxHeaderBytes <= 0 || s.ErrorLog == nil {
		t.Errorf("%+v", s)
	}
}

func TestAPanicIsAnAnswer(t *testing.T) {
	b := newBench(t)
	k := b.serve()
	k.brittle = true
	_, err := b.place.AskStates(t.Context(), k.server.Owner)
	if !fault.Is(err, fault.Failed) || !strings.Contains(err.Error(), "brittle") || strings.Contains(err.Error(), ".go:") {
		t.Errorf("%v", err)
	}
	b.answers(k.server.Owner)
}
