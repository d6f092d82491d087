package forge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
)

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

// findComment finds the comment with a mark.
func (f *remote) findComment(ctx context.Context, pull int64, mark string) (note, bool, error) {
	first := int64(-1)
	for page := 1; page <= mostPages; page++ {
		list, err := f.comments(ctx, pull, page)
		if err != nil {
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

func (f *remote) comments(ctx context.Context, pull int64, page int) ([]note, error) {
	query := url.Values{"page": {strconv.Itoa(page)}}
	if f.kind == kindGitHub {
		query.Set("per_page", "100")
	}
	var list []note
	err := f.get(ctx, query, &list, "issues", strconv.FormatInt(pull, 10), "comments")
	return list, err
}
