package dial

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
)

// GoogleSource is the source of tokens: Command, else File, else the metadata server.
type GoogleSource struct {
	File     string            // of a service account or a user; empty: none
	Command  string            // prints a token, run with sh -c; empty: none
	Metadata string            // host of the metadata server; empty: the usual
	Env      []string          // of the command
	HTTP     http.RoundTripper // nil: the usual
	Now      func() time.Time  // nil: time.Now

	mu    sync.Mutex // guards what follows; held while a token is asked for
	token string
	until time.Time
}

const (
	scope = "https://www.googleapis.com/auth/cloud-platform"
	// usual is the metadata server, by its address: the name may be anybody's where
	// no such server is.
	usual = "169.254.169.254"
	// early is the time before its end from which a token is not used any more.
	early = 4 * time.Minute
	// commandLasts is the time for which the token that a command printed is used: it has no end.
	commandLasts   = 5 * time.Minute
	googlePatience = 30 * time.Second
	googleGlance   = 3 * time.Second // of the metadata server, which is near or not there
	maxAnswer      = 1 << 20
)

// Token returns one that is good for some minutes. PROVIDER_AUTH: there is none to be had.
func (s *GoogleSource) Token(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	if s.token != "" && now().Before(s.until) {
		return s.token, nil
	}
	ctx, cancel := context.WithTimeout(ctx, googlePatience)
	defer cancel()
	token, lasts, err := s.ask(ctx)
	if err != nil {
		return "", err
	}
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		if s.Command != "" {
			return "", fault.New(fault.ProviderAuth, "get a token: token_command printed no token").
				WithHint("it must print a token and nothing else")
		}
		return "", refuseConfig("what came is not a token")
	}
	s.token, s.until = token, now().Add(lasts)
	return token, nil
}

// Last returns the token that was used last, so that it can be kept out of messages.
func (s *GoogleSource) Last() string {
	if !s.mu.TryLock() {
		return ""
	}
	defer s.mu.Unlock()
	return s.token
}

func refuseConfig(format string, args ...any) *fault.Error {
	return fault.New(fault.ProviderAuth, "get a token of Google: "+format, args...).
		WithHint("set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account, or token_command of the vendor in your configuration")
}

func (s *GoogleSource) ask(ctx context.Context) (string, time.Duration, error) {
	switch {
	case s.Command != "":
		return s.run(ctx)
	case s.File != "":
		return s.fromFile(ctx)
	}
	return s.fromMetadata(ctx)
}

func (s *GoogleSource) run(ctx context.Context) (string, time.Duration, error) {
	c, err := launch.Command(ctx, launch.Program{Purpose: launch.Credential, Command: sandbox.Command{Args: []string{"sh", "-c", s.Command}, Env: s.Env}})
	if err != nil {
		return "", 0, err
	}
	c.WaitDelay = time.Second
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return "", 0, fault.New(fault.ProviderAuth, "get a token: token_command: %v: %s", err, text.Line(said.String(), 200)).
			WithHint("run it yourself and see; it is in the vendor's table in your configuration")
	}
	return strings.TrimSpace(out.String()), commandLasts, nil
}

// credentials is the file, as Google's tools write it.
type credentials struct {
	Type     string `json:"type"`
	Email    string `json:"client_email"`
	Key      string `json:"private_key"`
	KeyID    string `json:"private_key_id"`
	TokenURI string `json:"token_uri"`
	Client   string `json:"client_id"`
	Secret   string `json:"client_secret"`
	Refresh  string `json:"refresh_token"`
}

func (s *GoogleSource) fromFile(ctx context.Context) (string, time.Duration, error) {
	b, err := os.ReadFile(s.File)
	if err != nil {
		return "", 0, refuseConfig("%v", err)
	}
	var c credentials
	if json.Unmarshal(b, &c) != nil {
		return "", 0, refuseConfig("%s is not JSON", s.File) // what stands there is not repeated
	}
	c.TokenURI = cmp.Or(c.TokenURI, "https://oauth2.googleapis.com/token")
	transport := s.HTTP
	if transport == nil {
		transport = http.DefaultTransport
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}) // redirects would take the secrets along
	var tokens oauth2.TokenSource
	switch c.Type {
	case "service_account":
		signer := jwt.Config{Email: c.Email, PrivateKey: []byte(c.Key), PrivateKeyID: c.KeyID, Scopes: []string{scope}, TokenURL: c.TokenURI}
		tokens = signer.TokenSource(ctx)
	case "authorized_user":
		user := oauth2.Config{ClientID: c.Client, ClientSecret: c.Secret, Endpoint: oauth2.Endpoint{TokenURL: c.TokenURI, AuthStyle: oauth2.AuthStyleInParams}}
		tokens = user.TokenSource(ctx, &oauth2.Token{RefreshToken: c.Refresh})
	default:
		return "", 0, refuseConfig("%s is of type %.40q: a service account or a user is known here", s.File, c.Type)
	}
	token, err := tokens.Token()
	var answered *oauth2.RetrieveError
	switch {
	case errors.As(err, &answered):
		return "", 0, refuseAnswer(answered.Response, answered.Body)
	case err != nil:
		return "", 0, refuseConfig("%s: %s", s.File, text.Line(err.Error(), 200))
	}
	return token.AccessToken, max(time.Until(token.Expiry)-early, time.Minute), nil
}

func (s *GoogleSource) fromMetadata(ctx context.Context) (string, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, googleGlance)
	defer cancel()
	host := cmp.Or(s.Metadata, usual)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+host+"/computeMetadata/v1/instance/service-accounts/default/token?scopes="+url.QueryEscape(scope), nil)
	if err != nil {
		return "", 0, refuseConfig("GCE_METADATA_HOST is not a host")
	}
	req.Header.Set("Metadata-Flavor", "Google")
	return s.fetch(req)
}

// fetch asks for a token.
func (s *GoogleSource) fetch(req *http.Request) (string, time.Duration, error) {
	transport := s.HTTP
	if transport == nil {
		transport = http.DefaultTransport
	}
	resp, err := transport.RoundTrip(req) // redirects would take the secrets along
	if err != nil {
		return "", 0, refuseConfig("%s does not answer: %v", req.URL.Host, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return "", 0, refuseConfig("%s: %v", req.URL.Host, err)
	}
	var out struct {
		Token string `json:"access_token"`
		Lasts int64  `json:"expires_in"`
	}
	json.Unmarshal(b, &out) // what is no JSON has no token
	if resp.StatusCode != http.StatusOK || out.Token == "" {
		return "", 0, refuseAnswer(resp, b)
	}
	return out.Token, max(time.Duration(out.Lasts)*time.Second-early, time.Minute), nil
}

func refuseAnswer(resp *http.Response, body []byte) error {
	var out struct {
		Error any    `json:"error"`
		Says  string `json:"error_description"`
	}
	json.Unmarshal(body, &out) // what is no JSON says nothing
	why, _ := out.Error.(string)
	return refuseConfig("%s answers with status %d: %s", resp.Request.URL.Host, resp.StatusCode, text.Line(strings.TrimSpace(why+" "+out.Says), 200))
}
