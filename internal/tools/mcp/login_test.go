package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// service is an MCP server over HTTP that wants a login, and the place where one logs in.
func service(t *testing.T) (s *httptest.Server, renewed *atomic.Int64) { return serviceFor(t, "") }

// serviceFor is one that knows this client and takes no others; empty: it takes new ones.
func serviceFor(t *testing.T, known string) (s *httptest.Server, renewed *atomic.Int64) {
	t.Helper()
	renewed = &atomic.Int64{}
	mux := http.NewServeMux()
	s = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	tell := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(v)
	}
	speaks := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return good() }, nil)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if given := r.Header.Get("Authorization"); given != "Bearer first" && given != "Bearer second" {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		speaks.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		tell(w, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		says := map[string]any{"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}}
		if known != "" {
			delete(says, "registration_endpoint")
			says["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
		}
		tell(w, says)
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		json.NewDecoder(r.Body).Decode(&in)
		in["client_id"] = "ramet-1"
		w.WriteHeader(http.StatusCreated)
		tell(w, in)
	})
	challenge := ""
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if known != "" && q.Get("client_id") != known {
			t.Errorf("authorize: %v", q)
		}
		if challenge = q.Get("code_challenge"); challenge == "" || q.Get("code_challenge_method") != "S256" || !strings.HasPrefix(q.Get("redirect_uri"), "http://127.0.0.1:") {
			t.Errorf("authorize: %v", q)
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"c"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		if known != "" && (r.Form.Get("client_id") != known || r.Form.Get("client_secret") != "whisper") {
			t.Errorf("token: %v", r.Form)
		}
		switch r.Form.Get("grant_type") {
		case "authorization_code":
			if r.Form.Get("code") != "c" || r.Form.Get("code_verifier") == "" {
				t.Errorf("token: %v", r.Form)
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token":"first","token_type":"Bearer","refresh_token":"again","expires_in":1}`)
		case "refresh_token":
			renewed.Add(1)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token":"second","token_type":"Bearer","refresh_token":"again","expires_in":3600}`)
		}
	})
	return s, renewed
}

func TestAPersonLogsInAtAService(t *testing.T) {
	s, renewed := service(t)
	p := &Pool{Servers: []Server{{Name: "far", URL: s.URL + "/mcp"}}, Cache: t.TempDir()}
	defer p.Close()
	if r, err := p.Call(t.Context(), "far", "echo", json.RawMessage(`{"text":"x"}`)); err != nil || r.Outcome != Refused || !strings.Contains(r.Text, "ramet mcp login far") {
		t.Errorf("before: %+v %v", r, err)
	}
	asked, err := p.Login(t.Context(), "far", browser)
	if err != nil || !asked {
		t.Fatal(asked, err)
	}
	if r, err := p.Call(t.Context(), "far", "echo", json.RawMessage(`{"text":"x"}`)); err != nil || r.Text != "echo: x" {
		t.Errorf("after: %+v %v", r, err)
	}
	// What was given lies in files of the user's alone, and was renewed, as it ran out.
	_ = filepath.WalkDir(filepath.Join(p.Cache, "passes"), func(path string, d fs.DirEntry, err error) error {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
		return err
	})
	if got := p.pass(p.Servers[0]); renewed.Load() == 0 || got == nil || got.Token.AccessToken != "second" {
		t.Errorf("%d renewals, %+v", renewed.Load(), got)
	}
	// Another address by the same name does not get it.
	if (&Pool{Cache: p.Cache}).pass(Server{Name: "far", URL: "http://127.0.0.1:1/mcp"}) != nil {
		t.Error("another service has the login")
	}
	if there, err := p.Logout("far"); !there || err != nil || p.pass(p.Servers[0]) != nil {
		t.Errorf("%v %v", there, err)
	}
}

func TestALoginThatIsRefusedSaysSo(t *testing.T) {
	s, _ := service(t)
	p := &Pool{Servers: []Server{{Name: "far", URL: s.URL + "/mcp"}}, Cache: t.TempDir()}
	defer p.Close()
	_, err := p.Login(t.Context(), "far", func(address string) {
		u, _ := url.Parse(address)
		go func() {
			if r, err := http.Get(u.Query().Get("redirect_uri") + "?error=access_denied"); err == nil {
				r.Body.Close()
			}
		}()
	})
	if err == nil || !strings.Contains(err.Error(), "access_denied") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := p.Login(ctx, "far", func(string) { cancel() }); err == nil {
		t.Error("whoever goes away is logged in")
	}
}

// browser opens an address as a browser does.
func browser(address string) {
	go func() {
		if r, err := http.Get(address); err == nil {
			r.Body.Close()
		}
	}()
}

func TestAServiceThatTakesNoNewClients(t *testing.T) {
	s, renewed := serviceFor(t, "app-7")
	stranger := &Pool{Servers: []Server{{Name: "far", URL: s.URL + "/mcp"}}, Cache: t.TempDir()}
	defer stranger.Close()
	_, err := stranger.Login(t.Context(), "far", func(string) { t.Error("somebody is asked in vain") })
	if f, ok := fault.Of(err); !ok || !strings.Contains(f.Hint, "client_id") {
		t.Errorf("%v", err)
	}
	p := &Pool{Servers: []Server{{Name: "far", URL: s.URL + "/mcp", Login: Client{ID: "app-7", Secret: "whisper"}}}, Cache: t.TempDir()}
	defer p.Close()
	if asked, err := p.Login(t.Context(), "far", browser); err != nil || !asked {
		t.Fatal(asked, err)
	}
	if r, err := p.Call(t.Context(), "far", "echo", json.RawMessage(`{"text":"x"}`)); err != nil || r.Text != "echo: x" || renewed.Load() == 0 {
		t.Errorf("%+v %v, %d renewals", r, err, renewed.Load())
	}
}

func TestALoginComesBackToAFixedPort(t *testing.T) {
	free := testkit.Must(listenBack(0))(t)
	u, _ := url.Parse(free.address)
	port, _ := strconv.Atoi(u.Port())
	if _, err := listenBack(port); err == nil || !strings.Contains(err.Error(), u.Port()) {
		t.Errorf("a port that is taken: %v", err)
	}
	free.close()
}
