package runner

import (
	"context"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/files/git"
)

// commented is the .json of comment.
type commented struct {
	Posted bool   `json:"posted"`
	Pull   int64  `json:"pull,omitempty"`
	URL    string `json:"url,omitempty"`
	Why    string `json:"why,omitempty"` // it was not posted
}

// comment makes a comment on a pull request, once for its key. With: repo, an address or a folder whose
// origin is on a forge, and pull, the number; without a number no comment is made.
func (j *builtinAttempt) comment(ctx context.Context) (Result, error) {
	body, err := j.input(ctx, "*.md")
	if err != nil {
		return Result{}, err
	}
	number := strings.TrimPrefix(strings.TrimSpace(j.value("pull")), "#")
	if number == "" {
		return j.encoded("*.json", commented{Why: "no pull request was named"})
	}
	pull, err := strconv.ParseInt(number, 10, 64)
	if err != nil || pull < 1 {
		return Result{}, fault.New(fault.Usage, "worker %s: pull is %.40q", j.it.Worker, number).WithHint("give the number of a pull request, or nothing")
	}
	address, err := j.origin(ctx, j.value("repo"))
	if err != nil {
		return Result{}, err
	}
	to, f, ok, err := j.remote(address)
	if err != nil {
		return Result{}, err
	}
	if !ok {
		return Result{}, fault.New(fault.Denied, "worker %s has no forge for %s to comment on pull request %d", j.it.Worker, to, pull).
			WithHint("set GITHUB_TOKEN or GITEA_TOKEN (and GITEA_URL); then `ramet run resume %s --from-failed` continues it", j.it.RunID)
	}
	made, err := f.Comment(ctx, pull, j.it.Task.Key, string(body))
	if err != nil {
		return Result{}, err
	}
	return j.encoded("*.json", commented{Posted: true, Pull: pull, URL: made.URL})
}

// origin returns the address from which a folder of this machine was cloned; anything else is an address already.
func (j *builtinAttempt) origin(ctx context.Context, address string) (string, error) {
	at, err := git.Locate(address)
	if err != nil || !at.Local() {
		return address, err
	}
	out, err := git.Run(ctx, address, "remote", "get-url", "origin")
	if err != nil {
		return "", fault.New(fault.NotFound, "%.200s has no origin, so its forge is unknown", address).WithHint("`git remote add origin URL` there, or give the URL as repo")
	}
	return strings.TrimSpace(out), nil
}
