package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/base/text"
)

// pass holds the tokens that a service gave a person who logged in there. It is kept under the name and the
// address of the server, in a file that only its owner can read: so that naming another address by
// the same name does not get it.
type pass struct {
	URL      string           `json:"url"`
	ID       string           `json:"client_id"`
	Secret   string           `json:"client_secret,omitempty"`
	Auth     string           `json:"auth_url"`
	TokenURL string           `json:"token_url"`
	Style    oauth2.AuthStyle `json:"auth_style"`
	Token    *oauth2.Token    `json:"token"`
}

func (p *Pool) passFile(s Server) string {
	sum := sha256.Sum256([]byte(s.Name + "\x00" + s.URL))
	return filepath.Join(p.Cache, "passes", hex.EncodeToString(sum[:16])+".json")
}

// pass returns the one of a server; nil if no person logged in.
func (p *Pool) pass(s Server) *pass {
	var out pass
	data, err := os.ReadFile(p.passFile(s))
	if err != nil || json.Unmarshal(data, &out) != nil || out.URL != s.URL || out.Token == nil {
		return nil
	}
	return &out
}

func (p *Pool) keepPass(s Server, one pass) error {
	data, err := json.Marshal(one)
	if err != nil {
		return err
	}
	path := p.passFile(s)
	if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, append(data, '\n'), 0o600)
}

// Logout forgets what a service gave; false: there was nothing.
func (p *Pool) Logout(server string) (bool, error) {
	h, err := p.holder(server)
	if err != nil {
		return false, err
	}
	err = step.Remove(p.passFile(h.server))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// bearer shows the pass of a server with each request, and keeps it when it is renewed.
type bearer struct {
	pool   *Pool
	server Server

	mu   sync.Mutex
	pass pass
	from oauth2.TokenSource
}

func (p *Pool) bearer(s Server, one pass) *bearer {
	b := &bearer{pool: p, server: s, pass: one}
	client := s.Client
	if client == nil {
		client = &http.Client{Timeout: connectTime}
	}
	config := oauth2.Config{ClientID: one.ID, ClientSecret: one.Secret, Endpoint: oauth2.Endpoint{AuthURL: one.Auth, TokenURL: one.TokenURL, AuthStyle: one.Style}}
	b.from = config.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, client), one.Token)
	return b
}

// Token implements oauth2.TokenSource.
func (b *bearer) Token() (*oauth2.Token, error) {
	t, err := b.from.Token()
	if err != nil {
		return nil, fault.New(fault.Denied, "the login at MCP server %s has run out", b.server.Name).WithHint("ramet mcp login %s", b.server.Name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.AccessToken != b.pass.Token.AccessToken {
		b.pass.Token = t
		_ = b.pool.keepPass(b.server, b.pass) // else it is renewed again next time
	}
	return t, nil
}

// TokenSource implements auth.OAuthHandler.
func (b *bearer) TokenSource(context.Context) (oauth2.TokenSource, error) { return b, nil }

// Authorize implements auth.OAuthHandler: only a person logs in.
func (b *bearer) Authorize(_ context.Context, _ *http.Request, r *http.Response) error {
	r.Body.Close()
	return fault.New(fault.Denied, "MCP server %s does not take the login any more", b.server.Name).WithHint("ramet mcp login %s", b.server.Name)
}

// Login lets a person log in at a service: show is given the address to be opened in a browser,
// which leads back to a listener of this process on the loopback. asked is false where the service
// wants no login.
func (p *Pool) Login(ctx context.Context, server string, show func(address string)) (asked bool, err error) {
	h, err := p.holder(server)
	if err != nil {
		return false, err
	}
	s := h.server
	if s.URL == "" {
		return false, fault.New(fault.Usage, "MCP server %s is a program: there is nothing to log in at", server)
	}
	back, err := listenBack(s.Login.Port)
	if err != nil {
		return false, err
	}
	defer back.close()
	client := s.Client
	if client == nil {
		client = &http.Client{Timeout: connectTime}
	}
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		PreregisteredClient: s.Login.known(), DynamicClientRegistrationConfig: clientRegistration(back.address),
		RedirectURL: back.address, RequestRefreshToken: true, AcceptUnadvertisedIss: true, Client: client,
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			asked = true
			show(a.URL)
			return back.wait(ctx)
		},
		NewTokenSource: func(ctx context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			one := pass{URL: s.URL, ID: c.ClientID, Secret: c.ClientSecret, Auth: c.Endpoint.AuthURL, TokenURL: c.Endpoint.TokenURL, Style: c.Endpoint.AuthStyle, Token: t}
			return c.TokenSource(ctx, t), p.keepPass(s, one)
		},
	})
	if err != nil {
		return false, fault.New(fault.Failed, "log in at MCP server %s: %w", server, err)
	}
	c := &connection{words: &text.EndsBuffer{Tail: 2 << 10}, begun: time.Now(), oauth: handler}
	if err := p.speak(ctx, p.life, s, c); err != nil {
		f := fault.New(fault.CodeOf(err), "log in at MCP server %s: %w", server, err)
		if s.Login.ID == "" && !asked {
			f = f.WithHint("a service that registers no clients by itself needs a client_id, which you get there; or give a token with headers")
		}
		return asked, f
	}
	c.close()
	return asked, nil
}

// known returns a client that the service knows already; nil: it is not configured.
func (c Client) known() *oauthex.ClientCredentials {
	if c.ID == "" {
		return nil
	}
	out := &oauthex.ClientCredentials{ClientID: c.ID}
	if c.Secret != "" {
		out.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: c.Secret}
	}
	return out
}

// clientRegistration returns how ramet makes itself known to a service that comes back to this address.
func clientRegistration(address string) *auth.DynamicClientRegistrationConfig {
	return &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "ramet",
		RedirectURIs: []string{address}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none"}}
}

// returning is the server to which a browser is redirected.
type returning struct {
	address string
	server  *http.Server
	came    chan *auth.AuthorizationResult
	failed  chan string
}

func listenBack(port int) (*returning, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fault.New(fault.Failed, "log in: %w", err).WithHint("another program may use the port: callback_port sets it")
	}
	b := &returning{address: "http://" + l.Addr().String() + "/callback", came: make(chan *auth.AuthorizationResult, 1), failed: make(chan string, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", b.take)
	b.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go b.server.Serve(l)
	return b, nil
}

func (b *returning) take(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if why := q.Get("error"); why != "" || q.Get("code") == "" {
		select {
		case b.failed <- text.Line(why+" "+q.Get("error_description"), 200):
		default:
		}
		http.Error(w, "The login failed. You can close this page.", http.StatusBadRequest)
		return
	}
	select {
	case b.came <- &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}:
	default:
	}
	w.Write([]byte("You are logged in. You can close this page.\n"))
}

func (b *returning) wait(ctx context.Context) (*auth.AuthorizationResult, error) {
	select {
	case r := <-b.came:
		return r, nil
	case why := <-b.failed:
		return nil, errors.New("the service says: " + why)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (b *returning) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // the page is still being sent
	defer cancel()
	_ = b.server.Shutdown(ctx)
}
