package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// remote delivers over HTTP.
type remote struct {
	base    string
	token   string
	timeout time.Duration
	client  *http.Client
}

func newRemote(o *Options) *remote {
	return &remote{base: strings.TrimRight(o.URL, "/"), token: o.Token, timeout: o.Timeout,
		client: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(),
			// The token must not follow to wherever an answer points.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (r *remote) send(ctx context.Context, method string, all []*parcel) error {
	defer r.client.CloseIdleConnections()
	for _, p := range all {
		if p.done || p.Method != method {
			continue
		}
		status, answer, err := r.ask(ctx, p.Method, p.Path(), p.Body)
		if err == nil {
			err = p.answered(status, answer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// answered handles the status of an answer: 2xx, a refusal, or an error to be tried again.
func (p *parcel) answered(status int, answer []byte) error {
	switch {
	case status >= 500:
		return fmt.Errorf("the telemetry service answered %d %s", status, http.StatusText(status))
	case status < 200 || status >= 300:
		p.refusal = &refusal{status, string(answer)}
	}
	p.done = true
	return nil
}

// grace limits a request on its way when the outbox is closed.
const grace = 500 * time.Millisecond

// maxAnswer limits the bytes that are read of an answer.
const maxAnswer = 64 << 10

// ask sends one request. An error means that there was no answer.
func (r *remote) ask(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	// A request that is on its way may be answered yet when the outbox is closed: what was
	// taken need not be sent again.
	stopping := ctx
	if stopping.Err() != nil {
		return 0, nil, stopping.Err()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(stopping), r.timeout)
	defer cancel()
	defer context.AfterFunc(stopping, func() { time.AfterFunc(grace, cancel) })()
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, errors.New("the telemetry service cannot be asked: its address is none")
	}
	req.Header.Set("Content-Type", "application/json")
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	res, err := r.client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("the telemetry service does not answer: %w", bareError(err))
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil && res.StatusCode < 300 {
		return 0, nil, fmt.Errorf("the telemetry service broke off its answer: %w", bareError(err))
	}
	return res.StatusCode, answer, nil
}

// bareError returns an error without the address, in which there may be a password.
func bareError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
