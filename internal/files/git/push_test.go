package git

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// change is a clone with a commit on top.
func (g *ground) change(from string, text string) (Tree, string) {
	g.t.Helper()
	tree := Tree{Dir: filepath.Join(g.t.TempDir(), "repo")}
	testkit.Must(Clone(g.t.Context(), g.at(from), tree.Dir, ""))(g.t)
	g.file(tree.Dir, "page.md", text)
	commit := testkit.Must(Commit(g.t.Context(), tree, "page", time.Unix(0, 0)))(g.t)
	return tree, commit
}

func TestABranchIsPushedOnce(t *testing.T) {
	g := newGround(t)
	bare := filepath.Join(t.TempDir(), "bare.git")
	g.git(g.dir, "clone", "-q", "--bare", g.dir, bare)
	ran := filepath.Join(t.TempDir(), "ran")
	for _, hook := range []string{"pre-receive", "update", "post-receive"} {
		g.file(bare, "hooks/"+hook, "#!/bin/sh\ntouch "+ran+"\n")
		testkit.OK(t, os.Chmod(filepath.Join(bare, "hooks", hook), 0o700))
	}
	to := g.at(bare)
	tree, one := g.change(bare, "one\n")
	if _, ok, err := RemoteBranch(t.Context(), to, "ramet/docs"); ok || err != nil {
		t.Fatal(ok, err)
	}
	for range 2 {
		testkit.OK(t, Push(t.Context(), tree, to, "ramet/docs", one, ""))
	}
	if c, ok, err := RemoteBranch(t.Context(), to, "ramet/docs"); c != one || !ok || err != nil {
		t.Errorf("%s %v %v", c, ok, err)
	}
	g.absent(ran)
	other, two := g.change(bare, "two\n")
	refuse(t, Push(t.Context(), other, to, "ramet/docs", two, ""), fault.Conflict, "another commit")
	if err := Push(t.Context(), other, to, "ramet/docs", two, one); err != nil {
		t.Error("what is known may be replaced:", err)
	}
	for _, bad := range []string{"", "-x", "a..b", "a b", "x.lock", "a/", "a*"} {
		refuse(t, Push(t.Context(), tree, to, bad, one, ""), fault.InvalidName)
	}
	refuse(t, Push(t.Context(), tree, g.at(filepath.Join(t.TempDir(), "none")), "x", one, ""), fault.NotFound)
	g.git(bare, "config", "receive.denyDeletes", "true")
	g.git(bare, "config", "receive.denyNonFastForwards", "true")
	refuse(t, Push(t.Context(), tree, to, "ramet/docs", one, two), fault.ForgeRefused, "rejected")
}

// A configuration that came with the tree sends nobody's credentials anywhere.
func TestPushingObeysNoConfigurationOfTheTree(t *testing.T) {
	g := newGround(t)
	bare := filepath.Join(t.TempDir(), "bare.git")
	g.git(g.dir, "clone", "-q", "--bare", g.dir, bare)
	tree, one := g.change(bare, "one\n")
	ran := filepath.Join(t.TempDir(), "ran")
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.git")
	g.git(g.dir, "clone", "-q", "--bare", g.dir, elsewhere)
	for key, value := range map[string]string{
		"core.sshCommand": "touch " + ran + "; false", "credential.helper": "!touch " + ran, "core.askPass": "touch " + ran,
		"url." + elsewhere + ".pushInsteadOf": bare, "core.gitProxy": "touch " + ran, "core.alternateRefsCommand": "touch " + ran,
	} {
		g.git(tree.Dir, "config", key, value)
	}
	g.file(tree.Dir, ".git/hooks/pre-push", "#!/bin/sh\ntouch "+ran+"\n")
	testkit.OK(t, os.Chmod(filepath.Join(tree.Dir, ".git", "hooks", "pre-push"), 0o700))
	testkit.OK(t, Push(t.Context(), tree, g.at(bare), "ramet/docs", one, ""))
	if c, ok, err := RemoteBranch(t.Context(), g.at(bare), "ramet/docs"); c != one || !ok || err != nil {
		t.Errorf("it went elsewhere: %s %v %v", c, ok, err)
	}
	for _, address := range []string{"ssh://git@127.0.0.1:1/x", "git://127.0.0.1:1/x"} {
		to := testkit.Must(Locate(address))(t)
		if err := Push(t.Context(), tree, to, "ramet/docs", one, ""); err == nil {
			t.Errorf("%s took it", address)
		}
	}
	g.absent(ran)
	for _, what := range []string{"core.sshCommand", "credential.helper", "core.askPass", "pushInsteadOf", "core.gitProxy", "core.alternateRefsCommand", "hooks/pre-push"} {
		testkit.Attack(t, "push", what)
	}
}

// server serves bare repositories over http, for those who know the token.
func server(t *testing.T, root, token string, before func(w http.ResponseWriter, r *http.Request) bool) *httptest.Server {
	t.Helper()
	out := testkit.Must(exec.Command("git", "--exec-path").Output())(t)
	backend := &cgi.Handler{Stderr: io.Discard, Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=u"}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before != nil && before(w, r) {
			return
		}
		if _, password, _ := r.BasicAuth(); token != "" && password != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			http.Error(w, "who? "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestTheTokenReachesTheServerAndNobodyElse(t *testing.T) {
	g := newGround(t)
	root := t.TempDir()
	g.git(g.dir, "clone", "-q", "--bare", g.dir, filepath.Join(root, "o", "r.git"))
	g.git(filepath.Join(root, "o", "r.git"), "config", "http.receivepack", "true")
	const token = "open-sesame-42"
	s := server(t, root, token, nil)
	store := filepath.Join(t.TempDir(), "store")
	g.file(g.home, ".gitconfig", "[credential]\n\thelper = \"!cat >> "+store+"; true\"\n")
	t.Setenv("SOME_TOKEN", token)

	bare := g.at(s.URL + "/o/r.git")
	_, err := Clone(t.Context(), bare, filepath.Join(t.TempDir(), "x"), "")
	refuse(t, err, fault.Denied, "credentials")
	if asked, err := os.ReadFile(store); err != nil || !strings.Contains(string(asked), "host=127.0.0.1") {
		t.Errorf("the user's own helper was not asked: %q, %v", asked, err)
	}
	testkit.OK(t, os.Remove(store))

	to := bare.WithToken("git", token)
	tree := Tree{Dir: filepath.Join(t.TempDir(), "repo")}
	c, err := Clone(t.Context(), to, tree.Dir, "")
	if err != nil || c.Branch != "main" {
		t.Fatalf("%+v, %v", c, err)
	}
	g.file(tree.Dir, "page.md", "page\n")
	commit := testkit.Must(Commit(t.Context(), tree, "page", time.Unix(0, 0)))(t)
	testkit.OK(t, Push(t.Context(), tree, to, "docs", commit, ""))
	if got, ok, err := RemoteBranch(t.Context(), to, "docs"); got != commit || !ok || err != nil {
		t.Errorf("%s %v %v", got, ok, err)
	}
	g.absent(store) // no other helper was told
	for _, dir := range []string{tree.Dir, g.home, root} {
		testkit.OK(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if b, _ := os.ReadFile(path); strings.Contains(string(b), token) {
					t.Errorf("%s holds the token", path)
				}
			}
			return err
		}))
	}
	// A server that sends us elsewhere, and one that echoes what it is told.
	other := server(t, root, token, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") != "" {
			t.Error("another host got the token")
		}
		return false
	})
	away := server(t, root, "", func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+r.URL.String(), http.StatusMovedPermanently)
		return true
	})
	if _, _, err = RemoteBranch(t.Context(), g.at(away.URL+"/o/r.git").WithToken("git", token), "docs"); err == nil {
		t.Error("the other host let us in")
	}
	err = Push(t.Context(), tree, bare.WithToken("git", token+"-wrong"), "other", commit, "")
	refuse(t, err, fault.Denied)
	basic := base64.StdEncoding.EncodeToString([]byte("git:" + token + "-wrong"))
	if strings.Contains(err.Error(), token) || strings.Contains(err.Error(), basic) {
		t.Errorf("the fault shows the token: %v", err)
	}
	if r := g.at("http://example.org/o/r").WithToken("git", token); r.token != "" {
		t.Error("a token for http without encryption")
	}
}

func TestAnAnswerThatIsLostIsLookedUp(t *testing.T) {
	g := newGround(t)
	root := t.TempDir()
	bare := filepath.Join(root, "r.git")
	g.git(g.dir, "clone", "-q", "--bare", g.dir, bare)
	g.git(bare, "config", "http.receivepack", "true")
	var dead atomic.Bool
	var backend http.Handler
	s := server(t, root, "", func(w http.ResponseWriter, r *http.Request) bool {
		if dead.Load() {
			panic(http.ErrAbortHandler)
		}
		if strings.HasSuffix(r.URL.Path, "git-receive-pack") && r.Method == http.MethodPost {
			backend.ServeHTTP(httptest.NewRecorder(), r) // it happens, and nobody is told
			dead.Store(r.Header.Get("X-Die") != "")
			panic(http.ErrAbortHandler)
		}
		return false
	})
	plain := server(t, root, "", nil)
	backend = plain.Config.Handler
	tree, commit := g.change(bare, "page\n")
	to := g.at(s.URL + "/r.git")
	if err := Push(t.Context(), tree, to, "docs", commit, ""); err != nil {
		t.Errorf("it arrived: %v", err)
	}
	g.file(g.home, ".gitconfig", "[http]\n\textraHeader = \"X-Die: 1\"\n")
	refuse(t, Push(t.Context(), tree, to, "docs2", commit, ""), fault.UnknownOutcome, "--redo")
	if got := g.git(bare, "rev-parse", "docs2"); got != commit {
		t.Error(got)
	}
}

// ground is a repository of a user with one commit.
type ground struct {
	t    *testing.T
	dir  string
	home string
}

func newGround(t *testing.T) *ground {
	t.Helper()
	g := &ground{t: t, home: t.TempDir(), dir: filepath.Join(t.TempDir(), "pro ject")}
	t.Setenv("HOME", g.home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	g.file(g.dir, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n")
	g.file(g.dir, "b/ü x.txt", "b\n")
	g.git(g.dir, "init", "-q", "-b", "main")
	g.save(g.dir, "first")
	return g
}

// git runs git as a user would.
func (g *ground) git(dir string, args ...string) string {
	g.t.Helper()
	return testkit.Git(g.t, dir, args...)
}

func (g *ground) save(dir, message string) string {
	g.t.Helper()
	g.git(dir, "add", "-A")
	g.git(dir, "commit", "-q", "--allow-empty", "-m", message)
	return g.git(dir, "rev-parse", "HEAD")
}

func (g *ground) file(dir, name, text string) {
	g.t.Helper()
	testkit.WriteFile(g.t, filepath.Join(dir, name), text)
}

func (g *ground) expect(dir, name, text string) {
	g.t.Helper()
	if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
		g.t.Errorf("%s holds %q (%v), want %q", name, got, err, text)
	}
}

// absent says that there is nothing.
func (g *ground) absent(path string) {
	g.t.Helper()
	if _, err := os.Lstat(path); err == nil {
		g.t.Errorf("there is something at %s", path)
	}
}

func (g *ground) at(address string) Remote {
	g.t.Helper()
	r := testkit.Must(Locate(address))(g.t)
	return r
}

// tree is a bundle of the repository's commit, unpacked with its repository elsewhere.
func (g *ground) tree() (t Tree, base, bundle string) {
	g.t.Helper()
	place := g.t.TempDir()
	bundle = filepath.Join(place, "base.bundle")
	base = testkit.Must(Bundle(g.t.Context(), Tree{Dir: g.dir}, g.git(g.dir, "rev-parse", "HEAD"), bundle))(g.t)
	t = Tree{Dir: filepath.Join(place, "tree"), Git: filepath.Join(place, "repo")}
	testkit.OK(g.t, FromBundle(g.t.Context(), bundle, base, t))
	return t, base, bundle
}

func (g *ground) diff(t Tree) string {
	g.t.Helper()
	out := testkit.Must(Diff(g.t.Context(), t))(g.t)
	return string(out)
}

func refuse(t *testing.T, err error, code fault.Code, parts ...string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("got %v, want %s", err, code)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not say %q", err, p)
		}
	}
}
