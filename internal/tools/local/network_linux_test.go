package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

// gate permits hosts that end in .test, and keeps what was asked.
type gate struct {
	mu    sync.Mutex
	asked []string
	ask   func(ctx context.Context, to string) error // nil: nobody is asked
}

func (g *gate) Reach(ctx context.Context, c tool.Call, to, command string) (*history.Permission, error) {
	g.mu.Lock()
	g.asked = append(g.asked, to)
	g.mu.Unlock()
	by := history.ByRule
	if g.ask != nil {
		by = history.ByPerson
		if err := g.ask(ctx, to); err != nil {
			return &history.Permission{Answer: history.Refused, By: by}, err
		}
	} else if host, _, _ := net.SplitHostPort(to); !strings.HasSuffix(host, ".test") {
		return &history.Permission{Answer: history.Refused, By: by}, errors.New("network to " + to + " was not permitted: the user can permit it with --allow 'net(" + host + ")'")
	}
	return &history.Permission{Answer: history.Allowed, By: by, Rule: "net(" + to + ")"}, nil
}

func (g *gate) NamesAddress(context.Context, id.Agent, netip.AddrPort) bool { return false }

// online is a desk whose confined commands reach two servers of the test under every permitted name: one on the port
// 443 with TLS, one on all others. Only the proxy knows how.
func online(t *testing.T, h http.Handler) (*desk, *gate) {
	d, g := newDesk(t), &gate{}
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	d.local.o.Network = g
	d.local.o.Env = append(d.local.o.Env, "HOME="+d.root, "GOFLAGS=-mod=mod", "GONOSUMDB=*", "GOPATH="+d.root+"/go", "GOCACHE="+d.root+"/cache", "GOTOOLCHAIN=local", "npm_config_cache="+d.root+"/npm",
		"https_proxy=http://of.the.user:1")
	d.local.o.Proxy.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
		if strings.HasPrefix(host, "private.") {
			return []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("8.8.8.8")}, nil
	}
	d.local.o.Proxy.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		if to.Addr().String() != "8.8.8.8" {
			t.Errorf("%s is dialled", to)
		}
		server := plain
		if to.Port() == 443 {
			server = secure
		}
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}
	return d, g
}

func TestProgramsUseTheNetworkByName(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello from", r.Host) })
	mux.HandleFunc("/thing", func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"name": "thing", "dist-tags": map[string]string{"latest": "1.2.3"}, "versions": map[string]any{
			"1.2.3": map[string]any{"name": "thing", "version": "1.2.3", "dist": map[string]string{"tarball": "http://npm.test/thing.tgz"}}}})
	})
	mux.HandleFunc("/example.test/m/@v/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, map[string]string{"list": "v1.4.2", "v1.4.2.info": `{"Version":"v1.4.2"}`, "v1.4.2.mod": "module example.test/m"}[filepath.Base(r.URL.Path)])
	})
	d, g := online(t, mux)
	bare := filepath.Join(d.outside, "repo.git")
	testkit.Must(exec.Command("sh", "-ec", `git init -q --bare "$0"; cd "$0"; t=$(git mktree < /dev/null); c=$(git -c user.name=a -c user.email=a@b commit-tree -m x "$t"); git update-ref refs/heads/kept "$c"; git update-server-info`, bare).CombinedOutput())(t)
	mux.Handle("/git/", http.StripPrefix("/git/", http.FileServer(http.Dir(d.outside))))
	ran := 0
	for _, c := range []struct{ program, command, want string }{
		{"curl", "curl -sS http://a.test/hello", "hello from a.test\n[network: a.test]"},
		{"curl", "curl -sSk https://a.test/hello && curl -sSk https://b.test/hello", "hello from a.test\nhello from b.test\n[network: a.test, b.test]"},
		{"curl", "curl -sS http://a.test:8080/hello", "hello from a.test:8080\n[network: a.test:8080]"},
		{"git", "git ls-remote http://git.test/git/repo.git", "refs/heads/kept\n[network: git.test]"},
		{"git", "git -c http.sslVerify=false ls-remote https://git.test/git/repo.git", "refs/heads/kept\n[network: git.test]"},
		{"npm", "npm view thing version --registry http://npm.test --no-update-notifier", "1.2.3\n[network: npm.test]"},
		{"npm", "npm view thing version --registry https://npm.test --strict-ssl=false --no-update-notifier", "1.2.3\n[network: npm.test]"},
		{"go", "GOPROXY=http://go.test go list -m -versions example.test/m", "example.test/m v1.4.2\n[network: go.test]"},
	} {
		if _, err := exec.LookPath(c.program); err != nil && c.program != "curl" && c.program != "git" {
			continue
		}
		ran++
		if got := d.granted(tool.Confine, "bash", args{"command": c.command}); got.IsError || !strings.HasSuffix(got.Text, c.want) && !strings.Contains(got.Text, c.want+"\n[the ") {
			t.Errorf("%s: %+v, want %q", c.command, got, c.want)
		}
	}
	if ran < 5 {
		t.Errorf("%d programs were tried", ran)
	}
	// Outside of the sandbox, and in the background, nothing of it is there.
	if got := d.call("bash", args{"command": "echo $HTTP_PROXY $https_proxy"}); got.Text != "http://of.the.user:1\n" {
		t.Errorf("%+v", got)
	}
	if strings.Contains(strings.Join(g.asked, " "), "127.0.0.1") {
		t.Error(g.asked)
	}
}

func TestWhatIsNotPermittedIsNotReached(t *testing.T) {
	reached := make(chan string, 10)
	d, g := online(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reached <- r.Host }))
	for command, want := range map[string]string{
		"curl -sSf http://a.example/":                                                 "[network to a.example:80 was not permitted: the user can permit it with --allow 'net(a.example)']",
		"curl -sSfk https://a.example/":                                               "[network to a.example:443 was not permitted: the user can permit it with --allow 'net(a.example)']",
		"curl -sSf -H 'Host: a.test' http://a.other/":                                 "[network to a.other:80 was not permitted",
		"curl -sSf http://private.test/":                                              "[network to private.test:80 failed: it leads to 169.254.169.254, which is not public, and no rule net(169.254.169.254:80) names it]",
		"curl -sSf --noproxy '*' http://a.test/":                                      "network only through the proxy in HTTP_PROXY, to hosts that rules such as net(HOST) permit; if it must have more",
		"curl -sSf --noproxy '*' http://8.8.8.8/":                                     "network only through the proxy in HTTP_PROXY, to hosts that rules such as net(HOST) permit; if it must have more",
		"curl -sSf --proxy-user ramet:wrong -x http://127.0.0.1:61080 http://a.test/": "407",
		"kill -9 -1; curl -sSf http://a.example/":                                     "",
	} {
		if got := d.granted(tool.Confine, "bash", args{"command": command}); !got.IsError || !strings.Contains(got.Text, want) {
			t.Errorf("%s: %+v, want %q", command, got, want)
		}
		testkit.Attack(t, "network", command)
	}
	if len(reached) > 0 {
		t.Errorf("%s was reached", <-reached)
	}
	if got := d.granted(tool.Confine, "bash", args{"command": "for i in $(seq 600); do exec {fd}<>/dev/tcp/127.0.0.1/61080; printf x >&$fd; done; echo flooded"}); got.IsError || !strings.Contains(got.Text, "flooded") {
		t.Errorf("%+v", got)
	}
	testkit.Attack(t, "network", "600 connections to the proxy")
	if len(g.asked) == 0 {
		t.Error("nothing was asked")
	}
}

func TestPausesDoNotCountForALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, ended := time.Now(), make(chan time.Duration, 1)
		l := newLimit(10*time.Second, func() { ended <- time.Since(began) })
		first, second := l.pause(), l.pause()
		time.AfterFunc(time.Hour, first)
		time.AfterFunc(2*time.Hour, second)
		if after := <-ended; after != 2*time.Hour+10*time.Second {
			t.Error(after)
		}
	})
}

// The answer is recorded before anything is sent, a question ends with its command, and a person who refuses again and
// again is not asked again and again.
func TestAPersonIsAskedWhileACommandRuns(t *testing.T) {
	var mu sync.Mutex
	var order []string
	did := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	d, g := online(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { did("sent") }))
	g.ask = func(ctx context.Context, to string) error {
		did("asked")
		return nil
	}
	call := func(ctx context.Context, a args) (tool.Answer, error) {
		text := testkit.Must(json.Marshal(a))(t)
		return d.local.bash().Run(ctx, tool.Call{ID: "1", Name: "bash", Args: text, Grant: tool.Confine, Output: d.out.take,
			Record: func(_ context.Context, p *history.Permission) error { did("recorded " + p.Rule); return nil }})
	}
	if got, err := call(t.Context(), args{"command": "curl -sSf http://a.test/ http://a.test/ && echo well"}); err != nil || got.IsError || strings.Join(order, ", ") != "asked, recorded net(a.test:80), sent, sent" {
		t.Errorf("%+v %v %v", got, err, order)
	}
	order = nil
	g.ask = func(ctx context.Context, to string) error {
		d.put("asked", "")
		<-ctx.Done()
		did("withdrawn")
		return ctx.Err()
	}
	if got, err := call(t.Context(), args{"command": "curl -sSf http://a.test/ & until [ -e asked ]; do sleep 0.05; done; kill -9 $!; echo gave up"}); err != nil || !strings.HasPrefix(got.Text, "gave up") || strings.Join(order, ", ") != "withdrawn" {
		t.Errorf("%+v %v %v", got, err, order)
	}
	order = nil
	ctx, cancel := context.WithCancel(t.Context())
	g.ask = func(ctx context.Context, to string) error { cancel(); <-ctx.Done(); return ctx.Err() }
	if _, err := call(ctx, args{"command": "curl -sSf http://a.test/"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	asked := 0
	g.ask = func(context.Context, string) error { asked++; return errors.New("the user did not permit it") }
	if got, err := call(t.Context(), args{"command": "for h in a b c d e f; do curl -sSf http://$h.test/; done"}); err != nil || asked != maxRefusals || !strings.Contains(got.Text, "the user refused 3 other hosts to this command") {
		t.Errorf("%+v %v, asked %d times", got, err, asked)
	}
}

func TestTheNetworkOfAnOrdinaryUser(t *testing.T) {
	testkit.RootOnly(t)
	const account = 61234                                     // one that is neither root nor anybody's
	dir := testkit.Must(os.MkdirTemp("", "ramet-network"))(t) // not t.TempDir(), which others cannot reach
	defer os.RemoveAll(dir)
	testkit.OK(t, os.Chown(dir, account, account))
	again := exec.Command("/proc/self/exe", "-test.run=^(TestProgramsUse|TestWhatIsNotPermitted|TestAPersonIsAskedWhile|TestNoPath|TestFileTools|TestGitAndRamet|TestSpecial|TestNothingEscapes|TestWhatWasPermitted|TestBashUnasked|TestConfinedCommandsLeave)")
	again.Dir = "/"
	again.Env = []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin", testkit.AttackEnvironment()}
	again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: account, Gid: account}}
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
