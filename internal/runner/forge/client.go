package forge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/secret"
	"ramet/internal/base/text"
	"ramet/internal/files/git"
)

const (
	attempts    = 4
	firstWait   = time.Second
	patience    = time.Minute      // the longest wait that a forge may ask for
	requestTime = 30 * time.Second // for one request
	answerLimit = 16 << 20
)

type kind string

const (
	kindGitHub kind = "GitHub"
	kindGitea  kind = "Gitea"
)

// remote is a repository on a forge.
type remote struct {
	kind        kind
	api         *url.URL
	owner, repo string
	token       string
	hide        *secret.Redactor
	http        *http.Client
	limit       time.Duration                              // of one request
	most        int64                                      // bytes of an answer
	pause       func(context.Context, time.Duration) error // between attempts
}

func newClient(k kind, api *url.URL, owner, repo, token string) *remote {
	return &remote{kind: k, api: api, owner: owner, repo: repo, token: token, limit: requestTime, most: answerLimit, pause: waitPause,
		hide: secret.New(map[string]string{"token": token}),
		// Redirects are followed on the same host only, and never from https to http.
		http: &http.Client{CheckRedirect: func(next *http.Request, via []*http.Request) error {
			from := via[0].URL
			if len(via) > 3 || next.URL.Host != from.Host || next.URL.Scheme != from.Scheme {
				return errors.New("it sends us elsewhere")
			}
			return nil
		}}}
}

func waitPause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// String never shows the token.
func (f *remote) String() string { return fmt.Sprintf("%s %s/%s", f.kind, f.owner, f.repo) }

// GoString never shows the token.
func (f *remote) GoString() string { return f.String() }

func (f *remote) Sign(r git.Remote) git.Remote {
	user := "git" // any name will do for Gitea
	if f.kind == kindGitHub {
		user = "x-access-token"
	}
	return r.WithToken(user, f.token)
}

// answer is the answer of the forge. status 0: nothing was heard, or not all of it.
type answer struct {
	status int
	after  time.Duration // that it wants us to wait; 0: it does not say
	says   string
	err    error // where status is 0
}

func (f *remote) once(ctx context.Context, method string, query url.Values, send, into any, path ...string) answer {
	ctx, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	var body io.Reader
	if send != nil {
		b, err := json.Marshal(send)
		if err != nil {
			return answer{err: err}
		}
		body = bytes.NewReader(b)
	}
	to := f.api.JoinPath(append([]string{"repos", url.PathEscape(f.owner), url.PathEscape(f.repo)}, path...)...)
	to.RawQuery = query.Encode()
	q, err := http.NewRequestWithContext(ctx, method, to.String(), body)
	if err != nil {
		return answer{err: err}
	}
	q.Header.Set("User-Agent", "ramet")
	q.Header.Set("Accept", "application/json")
	q.Header.Set("Authorization", "token "+f.token)
	if f.kind == kindGitHub {
		q.Header.Set("Accept", "application/vnd.github+json")
		q.Header.Set("X-GitHub-Api-Version", "2022-11-28")
		q.Header.Set("Authorization", "Bearer "+f.token)
	}
	if send != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	r, err := f.http.Do(q)
	if err != nil {
		return answer{err: err}
	}
	defer r.Body.Close()
	data, err := io.ReadAll(io.LimitReader(r.Body, f.most+1))
	a := answer{status: r.StatusCode, after: retryAfter(r.Header), says: f.words(data)}
	switch {
	case err == nil && int64(len(data)) > f.most:
		err = errors.New("the answer is too long")
	case err == nil && a.status/100 == 2:
		err = json.Unmarshal(data, into)
	}
	if err != nil && a.status/100 == 2 {
		return answer{err: err}
	}
	// GitHub answers 403 to too many requests.
	if a.status == http.StatusForbidden && (a.after > 0 || r.Header.Get("X-RateLimit-Remaining") == "0") {
		a.status = http.StatusTooManyRequests
	}
	return a
}

// get reads from the forge. Reading changes nothing, so it is repeated.
func (f *remote) get(ctx context.Context, query url.Values, into any, path ...string) error {
	for attempt := 1; ; attempt++ {
		a := f.once(ctx, http.MethodGet, query, nil, into, path...)
		switch {
		case a.status == http.StatusOK:
			return nil
		case !a.passing() || ctx.Err() != nil:
			return f.fault(ctx, a)
		}
		if err := f.wait(ctx, a, attempt); err != nil {
			return err
		}
	}
}

// words returns the message of a forge about a failure.
func (f *remote) words(data []byte) string {
	var said struct {
		Message string
		Errors  []json.RawMessage
	}
	if json.Unmarshal(data, &said) != nil {
		return f.clean(string(data[:min(len(data), 300)]))
	}
	out := said.Message
	for _, raw := range said.Errors[:min(len(said.Errors), 5)] {
		var e struct{ Message, Field, Code string }
		if json.Unmarshal(raw, &e) == nil && e.Message+e.Field != "" {
			out += "; " + strings.TrimSpace(e.Message+" "+e.Field+" "+e.Code)
		}
	}
	return f.clean(out)
}

func (f *remote) clean(s string) string {
	s = f.hide.Own(s)
	if f.token != "" {
		s = strings.ReplaceAll(s, f.token, "[redacted]")
	}
	return text.Line(s, 300)
}

// retryAfter reads how long to wait.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 1_000_000)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), time.Millisecond)
	}
	return 0
}

// passing reports whether a failure may pass.
func (a answer) passing() bool {
	return a.status == 0 || a.status == http.StatusTooManyRequests || a.status >= 500
}

// wait waits before the next attempt, if there is to be one.
func (f *remote) wait(ctx context.Context, a answer, attempt int) error {
	if attempt >= attempts || a.after > patience {
		return f.fault(ctx, a)
	}
	d := max(firstWait<<(attempt-1), a.after)
	if err := f.pause(ctx, d); err != nil {
		return fault.New(fault.Cancelled, "wait for %s: %w", f, err)
	}
	return nil
}

// fault returns the fault of an answer, with a remedy.
func (f *remote) fault(ctx context.Context, a answer) error {
	said := cmp.Or(a.says, http.StatusText(a.status))
	switch {
	case a.status == 0 && ctx.Err() != nil:
		return fault.New(fault.Cancelled, "ask %s: %w", f, ctx.Err())
	case a.status == 0:
		err := a.err
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address, which the reader knows
		}
		return fault.New(fault.ForgeRefused, "%s does not answer: %s", f, f.clean(err.Error())).WithHint("look at the network and at its address, then resume the run")
	case a.status == 401:
		return fault.New(fault.Denied, "%s does not accept the token: %s", f, said).WithHint("it may have expired: make a new one, then resume the run")
	case a.status == 403:
		return fault.New(fault.Denied, "%s does not allow it: %s", f, said).WithHint("the token needs the right to write contents and pull requests")
	case a.status == 404:
		return fault.New(fault.NotFound, "%s doesn't exist, or this token can't see it: %s", f, said).WithHint("look at the address, and at what the token may see")
	case a.status == 409 || a.status == 422:
		return fault.New(fault.ForgeRefused, "%s does not do that: %s", f, said).WithHint("look at the pull request and its branches there, then resume the run")
	case a.status == 429:
		hint := "wait a while, then resume the run"
		if a.after > 0 {
			hint = fmt.Sprintf("it allows more in %s; then resume the run", a.after.Round(time.Second))
		}
		return fault.New(fault.ForgeRefused, "%s allows no more requests now: %s", f, said).WithHint("%s", hint)
	case a.status >= 500:
		return fault.New(fault.ForgeRefused, "%s fails on its side with %d: %s", f, a.status, said).WithHint("resume the run later")
	}
	return fault.New(fault.ForgeRefused, "%s answers %d: %s", f, a.status, said).WithHint("look at its address: something else may answer there")
}
