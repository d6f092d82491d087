package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/files/git"
	"ramet/internal/testkit"
)

const token = "open-sesame-4711"

// meet gives the forge of o/r on a server, and the waits that it made.
func meet(t *testing.T, s *testkit.ForgeServer, kind string) (*remote, *[]time.Duration) {
	t.Helper()
	r := testkit.Must(git.Locate(s.URL + "/o/r.git"))(t)
	f, ok, err := DetectForge(r, func(name string) string { return s.Env(kind)[name] })
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	c := f.(*remote)
	waits := &[]time.Duration{}
	c.pause = func(ctx context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return ctx.Err()
	}
	return c, waits
}

// each runs a test with both APIs.
func each(t *testing.T, do func(t *testing.T, s *testkit.ForgeServer, kind string)) {
	for _, kind := range []string{"github", "gitea"} {
		t.Run(kind, func(t *testing.T) { do(t, testkit.NewForge(t, "", token), kind) })
	}
}

var asked = Request{Head: "ramet/docs", Base: "main", Title: "Docs", Body: "body"}

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
	if f, _ := fault.Of(err); f.Hint == "" || strings.Contains(fmt.Sprintf("%+v %#v %s", err, err, err), token) {
		t.Errorf("no hint, or the token: %+v", err)
	}
}

func TestOpeningTwiceGivesOne(t *testing.T) {
	each(t, func(t *testing.T, s *testkit.ForgeServer, kind string) {
		f, _ := meet(t, s, kind)
		if _, ok, err := f.Find(t.Context(), asked.Head, asked.Base); ok || err != nil {
			t.Fatal(ok, err)
		}
		for i := range 25 { // of others: several pages
			s.Add(testkit.ForgePull{Repo: "o/r", Head: fmt.Sprintf("other-%d", i), Base: "main"})
		}
		s.Add(testkit.ForgePull{Repo: "o/r", Head: asked.Head, Base: "main", State: "closed", SHA: "old"})
		if pr, ok, err := f.Find(t.Context(), asked.Head, asked.Base); !ok || err != nil || pr.Open || pr.Commit != "old" {
			t.Error(pr, ok, err)
		}
		one, err := f.Open(t.Context(), asked)
		if err != nil || !one.Open || one.URL != fmt.Sprintf("%s/o/r/pulls/%d", s.URL, one.Number) {
			t.Fatal(one, err)
		}
		two, err := f.Open(t.Context(), asked)
		if err != nil || two != one || s.Posts() != 1 || len(s.Pulls()) != 27 {
			t.Errorf("%+v %+v %v, %d posts", one, two, err, s.Posts())
		}
		other := asked
		other.Base = "stable"
		if three, err := f.Open(t.Context(), other); err != nil || three.Number == one.Number {
			t.Error(three, err)
		}
		for _, url := range s.Heard() {
			if strings.Contains(url, token) {
				t.Error("the token is in", url)
			}
		}
	})
}

func TestALostAnswerIsLookedUp(t *testing.T) {
	each(t, func(t *testing.T, s *testkit.ForgeServer, kind string) {
		f, _ := meet(t, s, kind)
		s.After(func() bool { return true })
		pr, err := f.Open(t.Context(), asked)
		if err != nil || !pr.Open || s.Posts() != 1 || len(s.Pulls()) != 1 {
			t.Errorf("%+v, %v, %d posts", pr, err, s.Posts())
		}
	})
	each(t, func(t *testing.T, s *testkit.ForgeServer, kind string) { // and then it is gone
		f, _ := meet(t, s, kind)
		var dead atomic.Bool
		s.After(func() bool { dead.Store(true); return true })
		s.Before(func(w http.ResponseWriter, r *http.Request) bool {
			if dead.Load() {
				w.WriteHeader(http.StatusBadGateway)
				return true
			}
			return false
		})
		_, err := f.Open(t.Context(), asked)
		refuse(t, err, fault.UnknownOutcome, "--redo")
		if s.Posts() != 1 {
			t.Errorf("%d posts", s.Posts())
		}
		dead.Store(false) // whoever repeats it finds it
		s.After(nil)
		if pr, err := f.Open(t.Context(), asked); err != nil || pr.Number != 1 || s.Posts() != 1 {
			t.Errorf("%+v, %v, %d posts", pr, err, s.Posts())
		}
	})
}

func TestSomebodyElseIsFaster(t *testing.T) {
	each(t, func(t *testing.T, s *testkit.ForgeServer, kind string) {
		f, _ := meet(t, s, kind)
		s.Before(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost { // 422 and 409 follow
				s.Add(testkit.ForgePull{Repo: "o/r", Head: asked.Head, Base: asked.Base})
			}
			return false
		})
		pr, err := f.Open(t.Context(), asked)
		if err != nil || pr.Number != 1 || len(s.Pulls()) != 1 {
			t.Errorf("%+v, %v", pr, err)
		}
	})
}

func TestEveryRefusalSaysWhatToDo(t *testing.T) {
	each(t, func(t *testing.T, s *testkit.ForgeServer, kind string) {
		for _, method := range []string{"GET", "POST"} {
			for _, c := range []struct {
				status int
				header string
				code   fault.Code
				says   string
				tries  int
			}{
				{401, "", fault.Denied, "make a new one", 1},
				{403, "", fault.Denied, "right to write", 1},
				{403, "60", fault.ForgeRefused, "allows no more", attempts},
				{404, "", fault.NotFound, "look at the address", 1},
				{409, "", fault.ForgeRefused, "told you so", 1},
				{422, "", fault.ForgeRefused, "told you so", 1},
				{429, "7", fault.ForgeRefused, "more in 7s", attempts},
				{429, "3600", fault.ForgeRefused, "more in 1h0m0s", 1},
				{429, "nonsense", fault.ForgeRefused, "allows no more", attempts},
				{500, "", fault.ForgeRefused, "fails on its side", attempts},
				{503, "2", fault.ForgeRefused, "fails on its side", attempts},
				{302, "", fault.ForgeRefused, "", 1},
				{200, "", fault.ForgeRefused, "", 1},
			} {
				if method == "GET" && c.status == 200 {
					continue // that is what it should say
				}
				var tries atomic.Int32
				s.Before(func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method != method {
						return false
					}
					tries.Add(1)
					if c.header != "" {
						w.Header().Set("Retry-After", c.header)
					}
					w.WriteHeader(c.status)
					fmt.Fprintf(w, `{"message": "told you so, %s", "errors": [{"message": "really"}]}`, r.Header.Get("Authorization"))
					return true
				})
				f, waits := meet(t, s, kind)
				_, err := f.Open(t.Context(), asked)
				if c.status == 200 { // an answer that is none: it is looked up, and asked for again
					c.tries = int(tries.Load())
				}
				refuse(t, err, c.code, c.says)
				if int(tries.Load()) != c.tries || len(s.Pulls()) > 0 {
					t.Errorf("%s %d: asked %d times, want %d", method, c.status, tries.Load(), c.tries)
				}
				for i, w := range *waits {
					if w > patience || c.header == "7" && w < 7*time.Second || i > 0 && w < (*waits)[i-1] {
						t.Errorf("%s %d waits %v", method, c.status, *waits)
					}
				}
			}
		}
	})
}

func TestWhatPassesIsWaitedFor(t *testing.T) {
	each(t, func(t *testing.T, s *testkit.ForgeServer, kind string) {
		for _, status := range []int{429, 500, 502} {
			var n atomic.Int32
			s.Before(func(w http.ResponseWriter, r *http.Request) bool {
				if n.Add(1)%2 == 0 {
					return false
				}
				w.WriteHeader(status)
				return true
			})
			f, _ := meet(t, s, kind)
			if pr, err := f.Open(t.Context(), asked); err != nil || pr.Number != 1 || s.Posts() != 1 {
				t.Errorf("%d: %+v, %v", status, pr, err)
			}
		}
	})
}

func TestAForgeThatHangsOrTalksNonsense(t *testing.T) {
	each(t, func(t *testing.T, s *testkit.ForgeServer, kind string) {
		f, _ := meet(t, s, kind)
		f.limit = 50 * time.Millisecond
		s.Before(func(w http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			return true
		})
		_, err := f.Open(t.Context(), asked)
		refuse(t, err, fault.ForgeRefused, "does not answer")
		f.limit, f.most = requestTime, 1000

		ctx, cancel := context.WithCancel(t.Context())
		s.Before(func(w http.ResponseWriter, r *http.Request) bool {
			cancel()
			<-r.Context().Done()
			return true
		})
		if _, err := f.Open(ctx, asked); !fault.Is(err, fault.Cancelled) {
			t.Error(err)
		}
		for _, nonsense := range []string{"", "<html>", "[1]", `[{"number": "x"}]`, "null garbage", "[" + strings.Repeat(" ", 1000) + "]"} {
			s.Before(func(w http.ResponseWriter, r *http.Request) bool {
				fmt.Fprint(w, nonsense)
				return true
			})
			_, err := f.Open(t.Context(), asked)
			refuse(t, err, fault.ForgeRefused, "does not answer")
		}
		// A pull request whose address would lead people astray is none.
		for _, bad := range []string{"javascript:alert(1)", "", "https://user:pass@host/x"} {
			s.Before(func(w http.ResponseWriter, r *http.Request) bool {
				fmt.Fprintf(w, `[{"number": 1, "state": "open", "html_url": %q, "head": {"ref": "ramet/docs"}, "base": {"ref": "main"}}]`, bad)
				return r.Method == http.MethodGet
			})
			if pr, ok, err := f.Find(t.Context(), asked.Head, asked.Base); ok || err != nil {
				t.Error(pr, err)
			}
		}
	})
	if _, err := (&remote{kind: kindGitHub, api: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, owner: "o", repo: "r", token: token,
		hide: newClient(kindGitHub, &url.URL{}, "", "", token).hide, http: http.DefaultClient, limit: time.Second, most: 1000,
		pause: func(context.Context, time.Duration) error { return nil }}).Open(t.Context(), asked); !fault.Is(err, fault.ForgeRefused) {
		t.Error(err)
	}
}

func TestNoRedirectCarriesTheTokenAway(t *testing.T) {
	each(t, func(t *testing.T, s *testkit.ForgeServer, kind string) {
		var stolen atomic.Bool
		thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			stolen.Store(true)
		}))
		defer thief.Close()
		s.Before(func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, thief.URL+r.URL.String(), http.StatusTemporaryRedirect)
			return true
		})
		f, _ := meet(t, s, kind)
		_, err := f.Open(t.Context(), asked)
		refuse(t, err, fault.ForgeRefused, "elsewhere")
		if stolen.Load() {
			t.Error("another host was asked")
		}
		// A repository that was renamed is found on the same host.
		s.Before(func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/o/r/") {
				http.Redirect(w, r, strings.Replace(r.URL.String(), "/o/r/", "/o/new/", 1), http.StatusTemporaryRedirect)
				return true
			}
			return false
		})
		if pr, err := f.Open(t.Context(), asked); err != nil || s.Pulls()[0].Repo != "o/new" {
			t.Error(pr, err)
		}
	})
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		remote, env, want string // want: kind, API and repository; empty: no forge; CODE: refused
	}{
		{"https://github.com/o/r.git", "GITHUB_TOKEN=x", "GitHub https://api.github.com o/r"},
		{"https://github.com/o/r", "GH_TOKEN=x", "GitHub https://api.github.com o/r"},
		{"git@github.com:o/r.git", "GITHUB_TOKEN=x", "GitHub https://api.github.com o/r"},
		{"ssh://git@ssh.github.com:443/o/r.git", "GITHUB_TOKEN=x", "GitHub https://api.github.com o/r"},
		{"git@github.com:o/r.git", "GITHUB_TOKEN=x GITHUB_API_URL=http://127.0.0.1:9", "GitHub http://127.0.0.1:9 o/r"},
		{"git@github.com:o/r.git", "GITHUB_TOKEN=x GITHUB_API_URL=https://ghe.example/api/v3", ""},
		{"git@ghe.example:o/r.git", "GITHUB_TOKEN=x GITHUB_API_URL=https://ghe.example/api/v3", "GitHub https://ghe.example/api/v3 o/r"},
		{"https://github.com.evil.example/o/r.git", "GITHUB_TOKEN=x", ""},
		{"https://evilgithub.com/o/r.git", "GITHUB_TOKEN=x", ""},
		{"https://github.com/o/r.git", "", ""},
		{"https://github.com/o/r.git", "GITEA_TOKEN=x", ""},
		{"https://git.example:3000/o/r.git", "GITEA_TOKEN=x GITEA_URL=https://git.example:3000/", "Gitea https://git.example:3000/api/v1 o/r"},
		{"https://git.example:3001/o/r.git", "GITEA_TOKEN=x GITEA_URL=https://git.example:3000/", ""},
		{"ssh://git@git.example:2222/o/r.git", "FORGEJO_TOKEN=x FORGEJO_URL=https://git.example:3000", "Gitea https://git.example:3000/api/v1 o/r"},
		{"https://git.example/sub/o/r.git", "GITEA_TOKEN=x GITEA_URL=https://git.example/sub", "Gitea https://git.example/sub/api/v1 o/r"},
		{"https://codeberg.org/o/r", "FORGEJO_TOKEN=x", "Gitea https://codeberg.org/api/v1 o/r"},
		{"https://other.example/o/r", "FORGEJO_TOKEN=x", ""},
		{"https://github.com/o/r/s", "GITHUB_TOKEN=x", "USAGE"},
		{"https://github.com/r", "GITHUB_TOKEN=x", "USAGE"},
		{"https://github.com/../r", "GITHUB_TOKEN=x", "USAGE"},
		{"https://git.example/o/r", "GITEA_TOKEN=x GITEA_URL=http://git.example", "INVALID_CONFIG"},
		{"https://git.example/o/r", "GITEA_TOKEN=x GITEA_URL=git.example", "INVALID_CONFIG"},
		{"https://git.example/o/r", "GITEA_TOKEN=x GITEA_URL=https://u:p@git.example", "INVALID_CONFIG"},
		{"https://github.com/o/r", "GITHUB_TOKEN=x\x01y", "INVALID_CONFIG"},
		{"/tmp", "GITHUB_TOKEN=x", ""},
	} {
		r := testkit.Must(git.Locate(c.remote))(t)
		env := map[string]string{}
		for _, pair := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		f, ok, err := DetectForge(r, func(name string) string { return env[name] })
		got := ""
		if err != nil {
			got = string(fault.CodeOf(err))
		} else if ok {
			c := f.(*remote)
			got = fmt.Sprintf("%s %s %s/%s", c.kind, c.api, c.owner, c.repo)
		}
		if got != c.want {
			t.Errorf("%s with %s: %q, want %q (%v)", c.remote, c.env, got, c.want, err)
		}
	}
}

func TestLocalFilesHoldTheBranch(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	run := func(at string, args ...string) string {
		t.Helper()
		out := testkit.Must(git.Command{Dir: at, Allow: []string{"file"}, Env: []string{"GIT_AUTHOR_NAME=u", "GIT_AUTHOR_EMAIL=u@x", "GIT_COMMITTER_NAME=u", "GIT_COMMITTER_EMAIL=u@x"}}.Run(t.Context(), args...))(t)
		return strings.TrimSpace(out)
	}
	run(dir, "init", "-q", source)
	testkit.OK(t, os.WriteFile(filepath.Join(source, "a"), []byte("a\n"), 0o600))
	run(source, "add", "a")
	run(source, "commit", "-q", "-m", "a")
	base := run(source, "rev-parse", "HEAD")
	var before map[string][]byte
	for range 2 {
		r := testkit.Must(git.Locate(source))(t)
		tree := git.Tree{Dir: filepath.Join(t.TempDir(), "repo")}
		testkit.Must(git.Clone(t.Context(), r, tree.Dir, base))(t)
		testkit.OK(t, os.WriteFile(filepath.Join(tree.Dir, "b"), []byte("b\n"), 0o600))
		patch := testkit.Must(git.Diff(t.Context(), tree))(t)
		commit := testkit.Must(git.Commit(t.Context(), tree, "b", time.Unix(0, 0)))(t)
		files := testkit.Must(LocalFiles(t.Context(), tree, Change{Branch: "ramet/docs", Base: base, Commit: commit, Title: "T", Patch: patch, Body: []byte("body\n")}))(t)
		for name, data := range before {
			if string(files[name]) != string(data) {
				t.Errorf("%s differs the second time", name)
			}
		}
		before = files
		bundle := filepath.Join(t.TempDir(), "branch.bundle")
		testkit.OK(t, os.WriteFile(bundle, files["branch.bundle"], 0o600))
		run(source, "fetch", "-q", bundle, "ramet/docs:ramet/docs")
		if got := run(source, "rev-parse", "ramet/docs"); got != commit {
			t.Error(got)
		}
		names := []string{}
		for name := range files {
			names = append(names, name)
		}
		if slices.Sort(names); !slices.Equal(names, []string{"README", "body.md", "branch.bundle", "changes.patch"}) || !strings.Contains(string(files["README"]), "git fetch") {
			t.Error(names)
		}
	}
}

func FuzzWords(f *testing.F) {
	c := newClient(kindGitHub, &url.URL{}, "o", "r", token)
	f.Add([]byte(`{"message":"x","errors":[{"message":"y"},"z",1]}`))
	f.Add([]byte("<html>" + token))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := c.words(data); strings.Contains(got, token) || strings.ContainsAny(got, "\n\x1b") || len(got) > 2000 {
			t.Errorf("%q", got)
		}
	})
}

// A comment is said once for a key, also where the answer was lost; other words change it, and
// those of others are left alone.
func TestACommentIsSaidOnce(t *testing.T) {
	each(t, func(t *testing.T, s *testkit.ForgeServer, kind string) {
		f, _ := meet(t, s, kind)
		s.Add(testkit.ForgePull{Repo: "o/r", Head: "h", Base: "main"})
		for i := range 25 { // several pages
			s.Say("o/r", 1, fmt.Sprintf("comment %d", i))
		}
		one, err := f.Comment(t.Context(), 1, "key", "first\n")
		if err != nil || !strings.HasPrefix(one.URL, s.URL+"/o/r/pulls/1#") {
			t.Fatal(one, err)
		}
		for _, words := range []string{"first", "second"} {
			if again, err := f.Comment(t.Context(), 1, "key", words); err != nil || again != one {
				t.Error(again, err)
			}
		}
		if other, err := f.Comment(t.Context(), 1, "other key", "first"); err != nil || other == one {
			t.Error(other, err)
		}
		var lost atomic.Bool
		s.After(func() bool { return !lost.Swap(true) })
		if _, err := f.Comment(t.Context(), 1, "third key", "third"); err != nil {
			t.Error(err)
		}
		got := s.Comments()
		if len(got) != 28 || !strings.HasPrefix(got[25].Body, "second\n\n<!-- ramet ") || got[24].Body != "comment 24" {
			t.Errorf("%d comments: %+v", len(got), got[24:])
		}
		_, err = f.Comment(t.Context(), 2, "key", "words")
		refuse(t, err, fault.NotFound)
		s.Demand("another")
		_, err = f.Comment(t.Context(), 1, "key", "words")
		refuse(t, err, fault.Denied)
	})
}

// What passes is waited for; a forge that never says whether it happened leaves it unknown.
func TestACommentOfAForgeThatFails(t *testing.T) {
	each(t, func(t *testing.T, s *testkit.ForgeServer, kind string) {
		f, waits := meet(t, s, kind)
		s.Add(testkit.ForgePull{Repo: "o/r", Head: "h", Base: "main"})
		var n atomic.Int64
		s.Before(func(w http.ResponseWriter, r *http.Request) bool {
			if n.Add(1) > 3 {
				return false
			}
			http.Error(w, "{}", http.StatusBadGateway)
			return true
		})
		if _, err := f.Comment(t.Context(), 1, "key", "words"); err != nil || len(*waits) != 3 || len(s.Comments()) != 1 {
			t.Errorf("%v after %v, %+v", err, *waits, s.Comments())
		}
		var posted atomic.Bool
		s.Before(func(w http.ResponseWriter, r *http.Request) bool {
			posted.CompareAndSwap(false, r.Method == http.MethodPost)
			if !posted.Load() {
				return false
			}
			http.Error(w, "{}", http.StatusBadGateway)
			return true
		})
		_, err := f.Comment(t.Context(), 1, "another", "words")
		refuse(t, err, fault.UnknownOutcome)
	})
}
