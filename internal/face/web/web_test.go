package web

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"ramet/internal/testkit"
)

func get(h http.Handler, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, "http://127.0.0.1:8765/", nil)
	r.URL.Path = target
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestHandler(t *testing.T) {
	h := Handler()
	page := get(h, "GET", "/")
	if page.StatusCode != 200 || page.Header.Get("Content-Type") != "text/html; charset=utf-8" || page.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("the page: %s %v", page.Status, page.Header)
	}
	assets, err := fs.Glob(Files(), "assets/*")
	if err != nil || len(assets) < 3 {
		t.Fatalf("assets %q, %v", assets, err)
	}
	hashed := regexp.MustCompile(`-[\w-]{8}\.(js|css|svg)$`)
	for _, name := range assets {
		a := get(h, "GET", "/"+name)
		if a.StatusCode != 200 || !strings.Contains(a.Header.Get("Cache-Control"), "immutable") || !hashed.MatchString(name) {
			t.Errorf("%s: %s %v", name, a.Status, a.Header)
		}
		if want := types[path.Ext(name)]; a.Header.Get("Content-Type") != want {
			t.Errorf("%s: type %q, want %q", name, a.Header.Get("Content-Type"), want)
		}
		again := get(h, "GET", "/"+name, "If-None-Match", a.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s again: %s", name, again.Status)
		}
		if other := get(h, "GET", "/"+name, "If-None-Match", `"other"`); other.StatusCode != 200 {
			t.Errorf("%s with another ETag: %s", name, other.Status)
		}
	}
	if a, b := get(h, "GET", "/"), get(h, "GET", "/"+assets[0]); a.Header.Get("ETag") == b.Header.Get("ETag") {
		t.Error("two files, one ETag")
	}
}

func TestHandlerServesNothingElse(t *testing.T) {
	h := handler(fstest.MapFS{"index.html": {Data: []byte("page")}, "assets/a-12345678.js": {Data: []byte("js")}, "assets/secret.key": {Data: []byte("no")}, "other.html": {Data: []byte("x")}})
	for _, c := range []struct {
		method, target string
		want           int
	}{
		{"GET", "/", 200}, {"HEAD", "/", 200}, {"GET", "/assets/a-12345678.js", 200},
		{"GET", "/index.html", 404}, {"GET", "/assets", 404}, {"GET", "/assets/", 404}, {"GET", "/assets/../index.html", 404},
		{"GET", "/assets/secret.key", 404}, {"GET", "/../web.go", 404}, {"GET", "//", 404}, {"GET", "/assets/%2e%2e", 404}, {"GET", "", 404},
		{"GET", "/assets/a-12345678.js/", 404}, {"GET", "/agents", 404},
		{"POST", "/", 405}, {"DELETE", "/assets/a-12345678.js", 405}, {"POST", "/nothing", 404},
	} {
		got := get(h, c.method, c.target)
		if got.StatusCode != c.want {
			t.Errorf("%s %q: %d, want %d", c.method, c.target, got.StatusCode, c.want)
		}
		for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"} {
			if got.Header.Get(name) == "" {
				t.Errorf("%s %q: no %s", c.method, c.target, name)
			}
		}
	}
}

// A word in the page that could load something from elsewhere. The names of XML
// namespaces are no addresses, and neither is the beginning of one; a library names pages
// of its own in warnings to developers.
var harmless = regexp.MustCompile(`^http://www\.w3\.org/|^https?:\\*/\\*/(?:\$\{|,)|^https?:[\\/]+,?$|^https://github\.com/highlightjs/highlight\.js/(?:issues|wiki)/`)

var foreign = regexp.MustCompile(`(?i)(?:https?|wss?|ftp):(?:\\?/){2}[^\s"'` + "`" + `)]+|["'(]//[a-z0-9-]+\.[a-z]`)

func TestDistNamesNoForeignHost(t *testing.T) {
	err := fs.WalkDir(Files(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || name == licences {
			return err
		}
		if types[path.Ext(name)] == "" {
			t.Errorf("%s: the handler does not know this type of file", name)
		}
		body, err := fs.ReadFile(Files(), name)
		for _, found := range foreign.FindAllString(string(body), -1) {
			if !harmless.MatchString(found) {
				t.Errorf("%s names %.80q", name, found)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What the policy forbids would fail in a browser only, and there silently.
func TestThePageKeepsToItsPolicy(t *testing.T) {
	page := testkit.Must(fs.ReadFile(Files(), "index.html"))(t)
	for _, bad := range []*regexp.Regexp{
		regexp.MustCompile(`(?i)<script(?:\s[^>]*)?>[^<]`), regexp.MustCompile(`(?i)<style`), regexp.MustCompile(`(?i)\sstyle=`), regexp.MustCompile(`(?i)\son\w+=`),
	} {
		if found := bad.Find(page); found != nil {
			t.Errorf("inline code: %s", found)
		}
	}
	for _, must := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'"} {
		if !strings.Contains(Policy, must) {
			t.Errorf("the policy lacks %s", must)
		}
	}
	if strings.Contains(Policy, "unsafe") || strings.Contains(Policy, "*") {
		t.Error("the policy is too wide")
	}
}

// TestTheLicencesGoWithThePage: a build names each library in it, in the version that is pinned,
// with the text of its licence. A release takes the file from there.
func TestTheLicencesGoWithThePage(t *testing.T) {
	told := testkit.Must(fs.ReadFile(Files(), licences))(t)
	body, err := os.ReadFile(filepath.Join(sources, "package.json"))
	var pinned struct{ Dependencies map[string]string }
	if err = errors.Join(err, json.Unmarshal(body, &pinned)); err != nil || len(pinned.Dependencies) < 4 {
		t.Fatal(pinned, err)
	}
	for name, version := range pinned.Dependencies {
		if !strings.Contains(string(told), "\n"+name+" "+version+"\n\n") {
			t.Errorf("%s lacks %s %s: make web", licences, name, version)
		}
	}
	for _, words := range []string{"Permission is hereby granted", "Redistribution and use in source and binary forms", "Mozilla Public License", "mdurl", "linkify-it", "uc.micro", "entities"} {
		if !strings.Contains(string(told), words) {
			t.Errorf("%s does not hold %q", licences, words)
		}
	}
	if got := get(Handler(), "GET", "/"+licences); got.StatusCode != 404 {
		t.Errorf("it is not a page: %s", got.Status)
	}
}

const licences = "LICENSES.txt" // made by web/licences.ts
