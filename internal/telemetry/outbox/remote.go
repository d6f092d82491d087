package outbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ramet/internal/telemetry"
)

// remote delivers over HTTP.
type remote struct {
	base    string
	token   string
	timeout time.Duration
	client  *http.Client
	own     bool // the client is ours
	single  bool // the service takes no batches
}

func newRemote(o *Options) *remote {
	r := &remote{base: strings.TrimRight(o.URL, "/"), token: o.Token, timeout: o.Timeout, client: o.Client}
	if r.client == nil {
		r.own = true
		r.client = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(),
			// The token must not follow to wherever an answer points.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return r
}

func (r *remote) close() {
	if r.own {
		r.client.CloseIdleConnections()
	}
}

// send creates all records first: so many can go together, and no change comes before
// its record.
func (r *remote) send(ctx context.Context, all []*parcel) error {
	var posts []*parcel
	for _, p := range all {
		if !p.done && p.Method == http.MethodPost {
			posts = append(posts, p)
		}
	}
	if len(posts) > 1 && !r.single {
		if err := r.batch(ctx, posts); err != nil {
			return err
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPatch} {
		for _, p := range all {
			if p.done || p.Method != method {
				continue
			}
			status, answer, err := r.ask(ctx, p.Method, p.Path(), p.Body)
			if err != nil {
				return err
			}
			if err := p.answered(status, answer); err != nil {
				return err
			}
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

// batch creates many records at once. A service that does not understand that, or
// refuses it as a whole, gets them one by one.
func (r *remote) batch(ctx context.Context, posts []*parcel) error {
	var body bytes.Buffer
	body.WriteString(`{"runs":[`)
	for i, p := range posts {
		if i > 0 {
			body.WriteByte(',')
		}
		body.Write(p.Body)
	}
	body.WriteString(`]}`)
	status, answer, err := r.ask(ctx, http.MethodPost, telemetry.Collection+"/batch", body.Bytes())
	if err != nil {
		return err
	}
	if status >= 500 {
		return new(parcel).answered(status, answer)
	}
	var said struct {
		Results []struct {
			EventID string          `json:"event_id"`
			Status  int             `json:"status"`
			Error   json.RawMessage `json:"error"`
		} `json:"results"`
	}
	if status >= 300 || json.Unmarshal(answer, &said) != nil || len(said.Results) != len(posts) {
		r.single = true
		return nil
	}
	var left error
	for i, result := range said.Results {
		p := posts[i]
		if result.EventID != "" && result.EventID != p.EventID || result.Status == 0 {
			r.single = true // it speaks another protocol
			return nil
		}
		if err := p.answered(result.Status, result.Error); err != nil {
			left = err
		}
	}
	return left
}

// grace limits a request on its way when the outbox is closed.
const grace = 500 * time.Millisecond

// maxAnswer limits the bytes that are read of an answer. That of a batch has a line for each record.
const maxAnswer = 1 << 20

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
