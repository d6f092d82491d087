package forge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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

const (
	pageSize   = 50
	mostPages  = 20
	titleLimit = 250   // characters; GitHub takes 256
	bodyLimit  = 60000 // characters; GitHub takes 65536
)

// pull is a pull request as both APIs describe it.
type pull struct {
	Number int64  `json:"number"`
	URL    string `json:"html_url"`
	State  string `json:"state"`
	Head   end    `json:"head"`
	Base   end    `json:"base"`
}

type end struct {
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
	Repo *struct {
		FullName string `json:"full_name"`
	} `json:"repo"`
}

func (p pull) pr() PR {
	return PR{Number: p.Number, URL: p.URL, Open: p.State == "open", Commit: p.Head.SHA}
}

func (f *remote) Find(ctx context.Context, head, base string) (PR, bool, error) {
	for _, state := range []string{"open", "closed"} {
		for page := 1; page <= mostPages; page++ {
			list, err := f.list(ctx, state, head, base, page)
			if err != nil {
				return PR{}, false, err
			}
			for _, p := range list {
				if f.fits(p, head, base) {
					return p.pr(), true, nil
				}
			}
			// A forge may give less than was asked for: only nothing is the end.
			if len(list) == 0 || f.kind == kindGitHub {
				break // GitHub looks for the branch itself
			}
		}
	}
	return PR{}, false, nil
}

// fits reports whether an answer is a pull request at all, and one between these branches.
func (f *remote) fits(p pull, head, base string) bool {
	from := f.owner + "/" + f.repo
	u, err := url.Parse(p.URL)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && p.Number > 0 && p.Head.Ref == head && p.Base.Ref == base &&
		(p.Head.Repo == nil || strings.EqualFold(p.Head.Repo.FullName, from) || p.Base.Repo != nil && p.Head.Repo.FullName == p.Base.Repo.FullName)
}

// list returns a page of pull requests, latest first.
func (f *remote) list(ctx context.Context, state, head, base string, page int) ([]pull, error) {
	query := url.Values{"state": {state}, "page": {strconv.Itoa(page)}}
	if f.kind == kindGitHub {
		query.Set("head", f.owner+":"+head)
		query.Set("base", base)
		query.Set("per_page", strconv.Itoa(pageSize))
		query.Set("sort", "created")
		query.Set("direction", "desc")
	} else {
		query.Set("limit", strconv.Itoa(pageSize))
		query.Set("sort", "recentupdate")
	}
	var list []pull
	err := f.get(ctx, query, &list, "pulls")
	return list, err
}

func (f *remote) Open(ctx context.Context, q Request) (PR, error) {
	if pr, ok, err := f.Find(ctx, q.Head, q.Base); err != nil || ok && pr.Open {
		return pr, err
	}
	q.Title, q.Body = cutText(q.Title, titleLimit), cutText(q.Body, bodyLimit)
	send := map[string]string{"title": q.Title, "head": q.Head, "base": q.Base, "body": q.Body}
	for attempt := 1; ; attempt++ {
		var made pull
		a := f.once(ctx, "POST", nil, send, &made, "pulls")
		if a.status == 201 && f.fits(made, q.Head, q.Base) {
			return made.pr(), nil
		}
		if ctx.Err() != nil { // a repetition looks it up first
			return PR{}, f.fault(ctx, answer{})
		}
		if a.status == 401 || a.status == 403 || a.status == 404 {
			return PR{}, f.fault(ctx, a)
		}
		// The outcome is unknown, or another client was faster: it is looked up.
		if a.status != 429 {
			pr, ok, err := f.Find(ctx, q.Head, q.Base)
			if ok && pr.Open {
				return pr, nil
			}
			refused := a.status >= 400 && a.status < 500
			if err != nil && !refused {
				return PR{}, fault.New(fault.UnknownOutcome, "whether %s opened the pull request from %s is not known: %w", f, q.Head, err).
					WithHint("look at it there, then resume with --redo")
			}
			if refused || a.status/100 == 2 || a.status/100 == 3 {
				return PR{}, f.fault(ctx, a)
			}
		}
		if err := f.wait(ctx, a, attempt); err != nil {
			return PR{}, err
		}
	}
}

// cutText shortens a text to a number of characters.
func cutText(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// Comment is a comment of a pull request.
type Comment struct {
	ID  int64
	URL string // for people
}

// note is a comment as both APIs describe it.
type note struct {
	ID   int64  `json:"id"`
	URL  string `json:"html_url"`
	Body string `json:"body"`
}

func (n note) comment() Comment { return Comment{n.ID, n.URL} }

// Comment comments on a pull request, once for a key: where there is such a comment, with
// other words, the words are changed.
func (f *remote) Comment(ctx context.Context, pull int64, key, body string) (Comment, error) {
	sum := sha256.Sum256([]byte(key))
	mark := "<!-- ramet " + hex.EncodeToString(sum[:12]) + " -->" // which no reader sees
	plain := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	body = cutText(strings.TrimRight(body, "\n"), bodyLimit) + "\n\n" + mark
	have, ok, err := f.findComment(ctx, pull, mark)
	for attempt := 1; ; attempt++ {
		switch {
		case err != nil && attempt == 1:
			return Comment{}, err
		case err != nil:
			return Comment{}, fault.New(fault.UnknownOutcome, "whether %s has the comment below pull request %d is not known: %w", f, pull, err).
				WithHint("look at it there, then resume with --redo")
		case ok && plain(have.Body) == plain(body): // GitHub gives lines other ends
			return have.comment(), nil
		}
		var made note
		send := map[string]string{"body": body}
		var a answer
		if ok {
			a = f.once(ctx, "PATCH", nil, send, &made, "issues", "comments", strconv.FormatInt(have.ID, 10))
		} else {
			a = f.once(ctx, "POST", nil, send, &made, "issues", strconv.FormatInt(pull, 10), "comments")
		}
		switch {
		case (a.status == 200 || a.status == 201) && made.ID > 0:
			return made.comment(), nil
		case !a.passing() || ctx.Err() != nil: // a repetition looks it up first
			return Comment{}, f.fault(ctx, a)
		}
		if err := f.wait(ctx, a, attempt); err != nil {
			return Comment{}, err
		}
		have, ok, err = f.findComment(ctx, pull, mark) // whether it happened is not said
	}
}

func (f *remote) findComment(ctx context.Context, pull int64, mark string) (note, bool, error) {
	first := int64(-1)
	for page := 1; page <= mostPages; page++ {
		query := url.Values{"page": {strconv.Itoa(page)}}
		if f.kind == kindGitHub {
			query.Set("per_page", "100")
		}
		var list []note
		if err := f.get(ctx, query, &list, "issues", strconv.FormatInt(pull, 10), "comments"); err != nil {
			return note{}, false, err
		}
		if len(list) == 0 || list[0].ID == first {
			break // Gitea gives all at once, whatever page is asked for
		}
		first = list[0].ID
		for _, n := range list {
			if strings.Contains(n.Body, mark) {
				return n, true, nil
			}
		}
	}
	return note{}, false, nil
}
