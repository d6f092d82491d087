package forge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"ramet/internal/base/fault"
)

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

// CommentMark returns the line, which no reader sees, by which a comment of a key is recognized.
func CommentMark(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "<!-- ramet " + hex.EncodeToString(sum[:12]) + " -->"
}

// Comment comments on a pull request, once for a key: where there is such a comment, with
// other words, the words are changed.
func (f *remote) Comment(ctx context.Context, pull int64, key, body string) (Comment, error) {
	mark := CommentMark(key)
	body = cutText(strings.TrimRight(body, "\n"), bodyLimit) + "\n\n" + mark
	have, ok, err := f.findComment(ctx, pull, mark)
	for attempt := 1; ; attempt++ {
		switch {
		case err != nil && attempt == 1:
			return Comment{}, err
		case err != nil:
			return Comment{}, fault.New(fault.UnknownOutcome, "whether %s has the comment below pull request %d is not known: %w", f, pull, err).
				WithHint("look at it there, then resume with --redo")
		case ok && sameBody(have.Body, body):
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

// sameBody compares what was sent with what a forge kept of it: GitHub gives lines other ends.
func sameBody(kept, sent string) bool {
	plain := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return plain(kept) == plain(sent)
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
