package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/trust"
)

// askTime is how long a server on this machine may take to answer.
const askTime = 5 * time.Second

// AskLogin asks a server that runs already (base like http://127.0.0.1:8765) for a
// one-time link to its page. NOT_FOUND: nobody answers there. CONFLICT: somebody else
// does; any program may take a port, so the token is sent only to one that knows it.
func AskLogin(ctx context.Context, base string, t trust.Token) (link string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	base = strings.TrimSuffix(base, "/")
	// Neither a proxy nor a redirect may get the token.
	transport := &http.Transport{DialContext: (&net.Dialer{}).DialContext}
	defer transport.CloseIdleConnections()
	a := asker{base, &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}

	var health Health
	challenge := rand.Text()
	host, err := a.ask(ctx, http.MethodGet, "/health?challenge="+challenge, "", &health)
	if err != nil {
		return "", err
	}
	if want := t.Prove(host, challenge); want == "" || !hmac.Equal([]byte(want), []byte(health.Proof)) {
		return "", a.stranger()
	}
	var code LoginCode
	if _, err := a.ask(ctx, http.MethodPost, "/api/v1/login-codes", t.Bearer(), &code); err != nil {
		return "", err
	}
	if !strings.HasPrefix(code.Path, "/login?code=") {
		return "", a.stranger()
	}
	return base + code.Path, nil
}

type asker struct {
	base   string
	client *http.Client
}

func (a asker) ask(ctx context.Context, method, path, authorization string, into any) (host string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, a.base+path, nil)
	if err != nil {
		return "", fault.New(fault.Usage, "%.80q is no address of a server", a.base).WithHint("write http://HOST:PORT")
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	answer, err := a.client.Do(r)
	if err != nil {
		return "", fault.New(fault.NotFound, "no server answers at %s: %w", a.base, err).WithHint("start one with `ramet serve`")
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, smallBody))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil || answer.StatusCode/100 != 2 {
		return "", a.stranger()
	}
	return r.URL.Host, nil
}

func (a asker) stranger() error {
	return fault.New(fault.Conflict, "what answers at %s does not know our token", a.base).
		WithHint("it is the server of another RAMET_HOME, or another program: choose an address with --addr")
}
