package secret

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	apiKey  = "sk-test-4f9A8cQ2/zX7+kL0=="
	token   = "tok\"en<with>odd & chars\\"
	overlap = "kL0==another-value"
)

func sample() *Redactor {
	return New(map[string]string{
		"API_KEY": apiKey, "TOKEN": token, "OVERLAP": overlap, "SHORT": "1234567", "TWIN": apiKey, "odd name]": "odd-name-value",
	})
}

func TestOwnFindsEveryForm(t *testing.T) {
	std, raw := base64.StdEncoding.EncodeToString, base64.RawURLEncoding.EncodeToString
	for name, c := range map[string]struct{ in, want string }{
		"as it is":           {"key " + apiKey + " end", "key [redacted:API_KEY] end"},
		"alone":              {apiKey, "[redacted:API_KEY]"},
		"twice":              {apiKey + apiKey, "[redacted:API_KEY][redacted:API_KEY]"},
		"query":              {"?k=" + url.QueryEscape(apiKey) + "&x=1", "?k=[redacted:API_KEY]&x=1"},
		"path":               {"/" + url.PathEscape(token) + "/", "/[redacted:TOKEN]/"},
		"form":               {"t=" + url.QueryEscape(token), "t=[redacted:TOKEN]"},
		"lower-case hex":     {strings.ToLower("%2D") + apiKey[8:], "%2d" + apiKey[8:]},
		"partly encoded":     {"x%73k" + apiKey[2:], "x[redacted:API_KEY]"},
		"base64":             {"<" + std([]byte(apiKey)) + ">", "<[redacted:API_KEY]>"},
		"base64 url":         {raw([]byte(apiKey)), "[redacted:API_KEY]"},
		"base64 in a query":  {"?a=" + url.QueryEscape(std([]byte(apiKey))), "?a=[redacted:API_KEY]"},
		"json":               {`{"t":"tok\"en<with>odd & chars\\"}`, `{"t":"[redacted:TOKEN]"}`},
		"json for html":      {`{"t":"tok\"en\u003cwith\u003eodd \u0026 chars\\"}`, `{"t":"[redacted:TOKEN]"}`},
		"overlapping":        {"a " + apiKey + "another-value b", "a [redacted:API_KEY] b"},
		"the later alone":    {"a " + overlap + " b", "a [redacted:OVERLAP] b"},
		"too short":          {"a 1234567 b", "a 1234567 b"},
		"odd name":           {"odd-name-value", "[redacted:odd_name_]"},
		"a strange marker":   {"[redacted:" + apiKey + "]", "[redacted:[redacted:API_KEY]]"},
		"percent, no secret": {"100 % of 50%25 and %zz", "100 % of 50%25 and %zz"},
		"not UTF-8":          {"\xff\xfe" + apiKey + "\x00", "\xff\xfe[redacted:API_KEY]\x00"},
		"known format":       {githubToken, githubToken},
	} {
		if got := sample().Own(c.in); got != c.want {
			t.Errorf("%s: %q\n got %q\nwant %q", name, c.in, got, c.want)
		}
	}
}

// A value inside something larger that was encoded as a whole can begin at any
// of three places in a group; no bit of it may remain.
func TestOwnFindsAValueWithinBase64(t *testing.T) {
	r := sample()
	for before := range 7 {
		for after := range 7 {
			for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
				text := strings.Repeat("u", before) + apiKey + strings.Repeat("v", after)
				got := r.Own("Basic " + enc.EncodeToString([]byte(text)) + "\n")
				rest, found := strings.CutPrefix(strings.Replace(got, "[redacted:API_KEY]", "", 1), "Basic ")
				rest = strings.TrimRight(rest, "=\n")
				// Characters that hold only bits of the neighbours may stay.
				begin, end := before*8, (before+len(apiKey))*8
				stay := begin/6 + (len(text)*8+5)/6 - (end+5)/6
				if !found || len(rest) != stay {
					t.Errorf("%d before, %d after: %q leaves %d characters, want %d", before, after, got, len(rest), stay)
				}
			}
		}
	}
}

func TestValuesThatLookLikeMarkers(t *testing.T) {
	r := New(map[string]string{"A": "redacted", "B": "]abcdefgh", "C": "secret-value", "D": "github-pat", "E": "[redacted:A]"})
	for in, want := range map[string]string{
		"redacted":                "redacted", // part of every marker, so no secret
		"secret-valueabcdefgh":    "[redacted:B]",
		"[redacted:A]abcdefgh":    "[redacted:B]",
		"[redacted:C":             "[redacted:C",
		"[redacted:[redacted:C]]": "[redacted:[redacted:C]]",
	} {
		if got := r.Own(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	// A rule must not be named when its name is a value.
	if got := r.All("x " + githubToken); got != "x [redacted:secret]" {
		t.Errorf("got %q", got)
	}
	if got := r.All("[redacted:github-pat]"); got != "[redacted:[redacted:D]]" {
		t.Errorf("got %q", got)
	}
}

func TestNothingToLookFor(t *testing.T) {
	for _, r := range []*Redactor{New(nil), New(map[string]string{"A": ""})} {
		if got := r.Own(apiKey); got != apiKey {
			t.Errorf("got %q", got)
		}
		if got := r.All("plain"); got != "plain" {
			t.Errorf("got %q", got)
		}
	}
}

func TestARedactorIsSharedByGoroutines(t *testing.T) {
	r := sample()
	in := "a " + apiKey + "\nexport TOKEN=" + githubToken + "\n"
	want := "a [redacted:API_KEY]\nexport TOKEN=[redacted:github-pat]\n"
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if got := r.All(in); got != want {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	all.Wait()
}

func FuzzRedact(f *testing.F) {
	f.Add("text", apiKey, token)
	f.Add("token = aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5", "redacted:", "[redacted:A]")
	f.Add("%41%42%"+githubToken, "ABABABAB", "BABABABA")
	f.Add("-----BEGIN PRIVATE KEY-----\n", "aaaaaaaaaaaa", "]aaaaaaa")
	f.Add("api_key\n:::= `'aaaaaaaaaaaa0123456789\\n", "%25%25%25", "========")
	f.Fuzz(func(t *testing.T, text, a, b string) {
		r := New(map[string]string{"A": a, "B": b})
		text = text + a + b + url.QueryEscape(a) + " " + base64.StdEncoding.EncodeToString([]byte(b+text+a))
		for name, redact := range map[string]func(string) string{"Own": r.Own, "All": r.All} {
			got := redact(text)
			for _, value := range []string{a, b} {
				looked := len(value) >= MinValue && !containedIn(value, r.markers)
				if looked && strings.Contains(got, value) {
					t.Errorf("%s: %q survives in %q", name, value, got)
				}
			}
			if again := redact(got); again != got {
				t.Errorf("%s: not idempotent:\n%q\n%q", name, got, again)
			}
		}
	})
}

// What is secret for a while is found beside the credentials, also those that come later. Of those whose
// time is over the oldest are forgotten, and nothing else is.
func TestAlso(t *testing.T) {
	r := New(map[string]string{"KEY": apiKey})
	own := r.Own // as it was given away before
	over := r.Also("door", "http://here/a/0123456789", "0123456789")
	r.Also("open", "still-secret")
	r.Renew(map[string]string{"TOKEN": overlap})
	for in, want := range map[string]string{
		"at http://here/a/0123456789/v1": "at [redacted:door]/v1",
		"0123456789 " + overlap:          "[redacted:door] [redacted:TOKEN]",
		apiKey:                           apiKey, // no longer one
	} {
		if got := own(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	over()
	if got := own("0123456789"); got != "[redacted:door]" {
		t.Errorf("told late: %q", got)
	}
	var all sync.WaitGroup
	for i := range mostOver {
		all.Go(func() { r.Also("door", fmt.Sprintf("value-%09d", i))() })
	}
	all.Wait()
	r.Also("door", "the last one")
	if got := own("0123456789 still-secret value-000000007 " + overlap); got != "0123456789 [redacted:open] [redacted:door] [redacted:TOKEN]" {
		t.Errorf("%q", got)
	}
}

func TestFindTellsWhereAndNotWhat(t *testing.T) {
	r := sample()
	text := "one\nkey " + apiKey + "\n\nexport GITHUB_TOKEN=" + githubToken + "\nagain " + apiKey + "\n"
	got := r.Find(text)
	var lines []int
	for _, f := range got {
		lines = append(lines, f.Line)
		if !f.Sure || f.Name == "" || strings.Contains(text, f.Name) && f.Name != "API_KEY" {
			t.Errorf("%+v", f)
		}
	}
	if !slices.Equal(slices.Compact(lines), []int{2, 4, 5}) || got[0].Name != "API_KEY" {
		t.Errorf("%+v", got)
	}
	if got := r.Find("nothing here, [redacted:API_KEY] neither\n"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestFindKnowsHashesFromSecrets(t *testing.T) {
	r := New(nil)
	for text, want := range map[string]bool{
		`api_key = "x8Kq2Zp9vLm4Tn7wRb3c"`:                                        true,
		"token: 9dfb1406f3ec56c177fc8c1c42dc94168135eb54ae4bdf6e177f348b3bbe9534": false,
		"access_key = 5b768359d0ebffcbd2a61b95fcfc57e5680ff115":                   false,
		"secret: sha256-9dfb1406f3ec56c177fc8c1c42dc9416":                         false,
		"token_version = v0.0.0-20260811164956-006e29f97886":                      false,
		"auth_token_id: 123e4567-e89b-12d3-a456-426614174000":                     false,
		"the token cache holds 42 entries":                                        false,
	} {
		got := r.Find(text)
		if (len(got) > 0) != want || want && got[0].Sure {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestFindAgreesWithAll(t *testing.T) {
	r := sample()
	for _, text := range []string{"x " + apiKey, "?k=" + strings.ReplaceAll(apiKey, "/", "%2F"), githubToken, "plain"} {
		if found, changed := len(r.Find(text)) > 0, r.All(text) != text; found != changed {
			t.Errorf("%q: found %t, replaced %t", text, found, changed)
		}
	}
}
