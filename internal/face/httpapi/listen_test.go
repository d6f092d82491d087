package httpapi

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
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

// The proof in /health is made for the Host that was asked: what another server relays proves nothing for that one.
func TestHealthProvesTheToken(t *testing.T) {
	s := start(t)
	var got Health
	s.ask(t, "GET", "/health?challenge=abc", nil, withoutToken).into(t, &got)
	if want := s.o.Token.Prove(s.host, "abc"); got.Proof != want || want == s.o.Token.Prove("127.0.0.1:1", "abc") {
		t.Errorf("the proof is %q, not %q", got.Proof, want)
	}
}

func TestURL(t *testing.T) {
	for addr, want := range map[string]string{"127.0.0.1:1": "http://127.0.0.1:1", "[::1]:2": "http://[::1]:2", "[::]:3": "http://127.0.0.1:3", "0.0.0.0:4": "http://127.0.0.1:4"} {
		tcp := testkit.Must(net.ResolveTCPAddr("tcp", addr))(t)
		if got := URL(tcp); got != want {
			t.Errorf("%s: %s", addr, got)
		}
	}
}
