package httpapi

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/trust"
)

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	for addr, ok := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "127.0.0.9:0": true,
		"0.0.0.0:0": false, ":0": false, "[::]:0": false, "192.0.2.1:0": false, "8.8.8.8:80": false,
		"127.0.0.1": false, "127.0.0.1:x": false, "127.0.0.1:99999": false, "": false, "no.such.host.invalid:0": false, "256.0.0.1:0": false,
	} {
		l, err := Listen(t.Context(), addr, false)
		if err == nil {
			l.Close()
		}
		if (err == nil) != ok || err != nil && !fault.Is(err, fault.Usage) {
			t.Errorf("%q: %v", addr, err)
		}
	}
	l, err := Listen(t.Context(), "0.0.0.0:0", true)
	if err != nil {
		t.Fatal(err)
	}
	if got := URL(l.Addr()); !strings.HasPrefix(got, "http://127.0.0.1:") {
		t.Error(got)
	}
	l.Close()
}

func TestATakenPortIsSaidToBeTakenByWhom(t *testing.T) {
	l, err := Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = Listen(t.Context(), l.Addr().String(), false)
	if !fault.Is(err, fault.Locked) || !strings.Contains(err.Error(), "in use") {
		t.Fatal(err)
	}
	if _, proc := os.Stat("/proc/net/tcp"); proc == nil && !strings.Contains(err.Error(), "(process "+strconv.Itoa(os.Getpid())+")") {
		t.Errorf("it does not name us: %v", err)
	}
}

func TestAskLogin(t *testing.T) {
	s := start(t)
	token := s.o.Token
	link, err := AskLogin(t.Context(), s.base+"/", token)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.ask(t, "GET", strings.TrimPrefix(link, s.base), nil, func(r *http.Request) { r.Header.Del("Authorization") }); got.status != 303 {
		t.Errorf("%d: %s", got.status, got.body)
	}
	if _, err := AskLogin(t.Context(), s.base, otherToken(t)); !fault.Is(err, fault.Conflict) {
		t.Errorf("with another token: %v", err)
	}
	if _, err := AskLogin(t.Context(), s.base, trust.Token{}); !fault.Is(err, fault.Conflict) {
		t.Errorf("without a token: %v", err)
	}
	if _, err := AskLogin(t.Context(), "http://127.0.0.1:1", token); !fault.Is(err, fault.NotFound) {
		t.Errorf("where nobody is: %v", err)
	}
	if _, err := AskLogin(t.Context(), "::", token); !fault.Is(err, fault.Usage) {
		t.Errorf("nowhere: %v", err)
	}
}

// Whoever took our port never sees the token, even if it has the real server answer the
// challenge.
func TestAThiefOfThePortGetsNoToken(t *testing.T) {
	s := start(t)
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the token was sent")
		}
		relayed := s.ask(t, "GET", r.URL.RequestURI(), nil, func(q *http.Request) { q.Header.Del("Authorization") })
		w.WriteHeader(relayed.status)
		_, _ = w.Write(relayed.body)
	}))
	defer thief.Close()
	if _, err := AskLogin(t.Context(), thief.URL, s.o.Token); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
}

func TestURL(t *testing.T) {
	for addr, want := range map[string]string{"127.0.0.1:1": "http://127.0.0.1:1", "[::1]:2": "http://[::1]:2", "[::]:3": "http://127.0.0.1:3", "0.0.0.0:4": "http://127.0.0.1:4"} {
		tcp, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := URL(tcp); got != want {
			t.Errorf("%s: %s", addr, got)
		}
	}
}

// otherToken returns the token of another home.
func otherToken(t *testing.T) trust.Token {
	t.Helper()
	token, err := trust.OpenToken(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return token
}
