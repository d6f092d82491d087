package mcp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Headers of a service go to it alone, not to where it redirects.
func TestHeadersGoToTheirServiceAlone(t *testing.T) {
	var got []string
	hear := func(who string) func(*http.Request) {
		return func(r *http.Request) {
			got = append(got, who+r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("X-Key"))
		}
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hear("other")(r) }))
	defer other.Close()
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hear("own")(r)
		switch r.URL.Path {
		case "/mcp":
			http.Redirect(w, r, "/here", http.StatusTemporaryRedirect)
		case "/here":
			http.Redirect(w, r, other.URL+"/there", http.StatusTemporaryRedirect)
		}
	}))
	defer own.Close()
	s := Server{URL: own.URL + "/mcp", Headers: map[string]string{"Authorization": "Bearer t", "X-Key": "k"}}
	answer, err := addHeaders(&http.Client{}, s).Post(s.URL, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if want := "own/mcp Bearer tk, own/here Bearer tk, other/there "; strings.Join(got, ", ") != want {
		t.Errorf("%q", got)
	}
}

// A key in an address, be it written there or named by $NAME, is shown to nobody: not in lists, not in
// errors, which models read.
func TestNoKeyOfAnAddressIsShown(t *testing.T) {
	for _, c := range []struct{ url, shown, want string }{
		{"https://h.example/mcp", "", "https://h.example/mcp"},
		{"https://h.example/mcp?key=s3cret", "https://h.example/mcp?key=$KEY", "https://h.example/mcp?…"},
		{"https://h.example/mcp?key=s3cret", "", "https://h.example/mcp?…"},
		{"https://u:s3cret@h.example/mcp", "", "https://h.example/mcp"},
		{"https://u:s3cret@h.example", "https://u:$KEY@h.example", "https://h.example"},
		{"https://h.example/s3cret/mcp", "https://h.example/$KEY/mcp", "https://h.example/$KEY/mcp"},
		{"https://u:s3cret@h.example/s3cret/mcp?a=s3cret", "https://u:$KEY@h.example/$KEY/mcp?a=$KEY", "https://h.example/$KEY/mcp?…"},
	} {
		s := Server{URL: c.url, Shown: c.shown}
		if got := s.Address(); got != c.want {
			t.Errorf("%s: %s, want %s", c.url, got, c.want)
		}
		refused := &http.Client{Transport: refusing{}}
		_, err := refused.Post(c.url, "", nil)
		if got := s.says(err); strings.Contains(got, "s3cret") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.url, got)
		}
	}
}

type refusing struct{}

func (refusing) RoundTrip(r *http.Request) (*http.Response, error) { return nil, http.ErrServerClosed }
