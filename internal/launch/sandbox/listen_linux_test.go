package sandbox

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// greet answers each connection with a greeting, until the listener is closed.
func greet(greeting string, over chan<- error) func(net.Listener) {
	return func(l net.Listener) {
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					over <- err
					return
				}
				io.WriteString(conn, greeting)
				conn.Close()
			}
		}()
	}
}

const knock = `exec 3<>/dev/tcp/` + "127.0.0.1/61080" + ` && cat <&3`

func TestAConfinedCommandReachesItsListenerOnly(t *testing.T) {
	r := newRoom(t)
	over := make(chan error, 2)
	listening := func(greeting string) Command {
		c := sh(r.root, "")
		c.Args = []string{"bash", "-c", knock + "; ls /proc/self/fd | tr '\\n' ' '; (exec 3<>/dev/tcp/127.0.0.1/61081) 2>/dev/null || echo nothing else"}
		c.Confine = r.box()
		c.Confine.Listen = greet(greeting, over)
		return c
	}
	// Two at a time have the same address, each in a network of its own.
	outs := []*screen{newScreen(), newScreen()}
	for i, greeting := range []string{"first\n", "second\n"} {
		c := listening(greeting)
		c.Output = outs[i]
		p := testkit.Must(Start(t.Context(), c))(t)
		defer func() {
			testkit.Must(p.Wait())(t)
			if got := outs[i].String(); got != greeting+"0 1 2 3 4 nothing else\n" {
				t.Errorf("%q", got)
			}
			if err := <-over; !strings.Contains(err.Error(), "closed") {
				t.Error(err)
			}
		}()
	}
	// With the network of the machine there is none.
	c := listening("third\n")
	c.Confine.Network = true
	if got, out := run(t, c); strings.Contains(out, "third") {
		t.Errorf("%+v %q", got, out)
	}
	testkit.Attack(t, "network", "another port than the listener's")
}

// A command that cannot take its port from ramet, and one that ends at once, leave nothing open.
func TestAListenerEndsWithItsCommand(t *testing.T) {
	r := newRoom(t)
	files := func() int { return len(testkit.Must(os.ReadDir("/proc/self/fd"))(t)) }
	over := make(chan error, 1)
	once := func(script string) (Result, string) {
		c := sh(r.root, "")
		c.Args = []string{"bash", "-c", script}
		c.Confine = r.box()
		c.Confine.Listen = greet("hello\n", over)
		defer func() { <-over }()
		return run(t, c)
	}
	once("true")
	before := files()
	for _, script := range []string{"true", "kill -9 $$", "kill -9 -1", knock} {
		once(script)
	}
	got, out := once(`command -v python3 > /dev/null || exit 0; python3 -c '
import socket
for host in "127.0.0.1", "0.0.0.0", "::":
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        s.bind((host, 61080)); s.listen(); print("took", host)
    except OSError: pass'`)
	if strings.Contains(out, "took 127") || strings.Contains(out, "took 0") {
		t.Errorf("%+v %q", got, out)
	}
	testkit.Attack(t, "network", "bind the port of the proxy again")
	if now := files(); now > before {
		t.Errorf("%d files are open, not %d", now, before)
	}
}
