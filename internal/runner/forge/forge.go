// Package forge opens pull requests and comments on them: through the API of GitHub, or of Gitea and Forgejo.
// Where no forge is configured, Local makes files that hold the same: branch, patch, text.
//
// It promises:
//
//   - Opening twice gives one pull request: it is looked up by its branch first, and again
//     after an answer that was lost. Where that fails too: UNKNOWN_OUTCOME.
//   - A comment is made once for a key, by a mark that no reader sees.
//   - What passes is waited for and repeated, a few times and not for long: too many
//     requests, a server that fails or cannot be reached.
//   - The token goes to the host of the API and, through git.Remote, to the host of the
//     repository. It is in no fault and no URL, and no redirect carries it elsewhere.
//   - Answers are read up to a limit, and each request ends after a while.
//
// DENIED: the token is refused. NOT_FOUND: no such repository, for this token. FORGE_REFUSED:
// everything else that the forge does not do, with its own words.
package forge

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/files/git"
)

// PR is a pull request.
type PR struct {
	Number int64
	URL    string // for people
	Open   bool   // neither merged nor closed
	Commit string // the last one of its branch
}

// Request is a pull request to be opened.
type Request struct {
	Head  string // branch with the changes, in the same repository
	Base  string // branch that they are for
	Title string
	Body  string // Markdown
}

// Forge is one repository on a forge.
type Forge interface {
	// Find looks for a pull request from one branch into another: the one that is open,
	// else the latest.
	Find(ctx context.Context, head, base string) (PR, bool, error)
	// Open opens one, or finds the one that is open.
	Open(ctx context.Context, q Request) (PR, error)
	// Comment comments on a pull request, once for a key, and changes the comment that was made
	// for it before.
	Comment(ctx context.Context, pull int64, key, body string) (Comment, error)
	// Sign gives git the right to push to the repository.
	Sign(r git.Remote) git.Remote
}

// Variables lists those that configure forges. They hold tokens: no tool may find them in
// its environment.
func Variables() []string {
	return []string{"GITHUB_TOKEN", "GH_TOKEN", "GITEA_TOKEN", "FORGEJO_TOKEN"}
}

// DetectForge finds the forge of a repository, if there is a token for it.
//
//	GITHUB_TOKEN, GH_TOKEN        for github.com, or the host of GITHUB_API_URL
//	GITEA_TOKEN, FORGEJO_TOKEN    for the host of GITEA_URL or FORGEJO_URL, codeberg.org, gitea.com
//
// INVALID_CONFIG: a variable cannot be used.
func DetectForge(r git.Remote, env func(string) string) (Forge, bool, error) {
	if r.Local() {
		return nil, false, nil
	}
	find := func(names ...string) (value, name string) {
		for _, name := range names {
			if v := strings.TrimSpace(env(name)); v != "" {
				return v, name
			}
		}
		return "", ""
	}
	if token, from := find("GITHUB_TOKEN", "GH_TOKEN"); token != "" {
		base, variable := find("GITHUB_API_URL")
		api, err := parseBase(base, variable, "https://api.github.com")
		if err != nil {
			return nil, false, err
		}
		if ofGitHub(r, api) {
			return makeForge(r, kindGitHub, api, "", token, from)
		}
	}
	if token, from := find("GITEA_TOKEN", "FORGEJO_TOKEN"); token != "" {
		base, variable := find("GITEA_URL", "FORGEJO_URL")
		usual := "https://" + hostName(r.Host())
		api, err := parseBase(base, variable, usual)
		if err != nil {
			return nil, false, err
		}
		known := hostName(r.Host()) == "codeberg.org" || hostName(r.Host()) == "gitea.com"
		if base != "" && sameHost(r, api) || base == "" && known {
			prefix := strings.Trim(api.Path, "/")
			return makeForge(r, kindGitea, api.JoinPath("api", "v1"), prefix, token, from)
		}
	}
	return nil, false, nil
}

// parseBase reads the address of an API.
func parseBase(value, variable, usual string) (*url.URL, error) {
	if value == "" {
		value, variable = usual, "the address"
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fault.New(fault.InvalidConfig, "%s is not an address of a forge", variable).WithHint("https://host is one, without a user")
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return nil, fault.New(fault.InvalidConfig, "%s would send a token to %s without encryption", variable, u.Hostname()).WithHint("use https")
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ofGitHub reports whether an API is that of the repository's host.
func ofGitHub(r git.Remote, api *url.URL) bool {
	switch hostName(r.Host()) {
	case "github.com", "www.github.com", "ssh.github.com":
		return api.Hostname() == "api.github.com" || isLoopback(api.Hostname())
	}
	return sameHost(r, api)
}

// sameHost compares; ports count where both are web addresses.
func sameHost(r git.Remote, api *url.URL) bool {
	host := strings.TrimPrefix(api.Host, "api.")
	if r.Scheme() == "https" || r.Scheme() == "http" {
		return r.Host() == api.Host || r.Host() == host
	}
	return hostName(r.Host()) == api.Hostname() || hostName(r.Host()) == strings.TrimPrefix(api.Hostname(), "api.")
}

// hostName returns a host without its port, in lower case.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return strings.ToLower(h)
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// makeForge makes a forge of what was found.
func makeForge(r git.Remote, k kind, api *url.URL, prefix, token, from string) (Forge, bool, error) {
	if strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, false, fault.New(fault.InvalidConfig, "%s contains no token: it has characters that no token has", from)
	}
	path := r.Path()
	if r.Scheme() == "https" || r.Scheme() == "http" {
		path = strings.TrimPrefix(path, prefix)
	}
	owner, repo, ok := strings.Cut(strings.TrimSuffix(strings.Trim(path, "/"), ".git"), "/")
	if !ok || owner == "" || repo == "" || strings.Contains(repo, "/") || strings.Trim(owner, ".") == "" || strings.Trim(repo, ".") == "" {
		return nil, false, fault.New(fault.Usage, "%s names no owner and repository", r).WithHint("https://host/owner/name.git does")
	}
	return newClient(k, api, owner, repo, token), true, nil
}

// Change is the content of a pull request.
type Change struct {
	Branch string
	Base   string // commit that it is made on
	Commit string // the last one of the branch
	Title  string
	Patch  []byte
	Body   []byte
}

// LocalFiles makes the files that replace a pull request where there is no forge, by name:
// branch.bundle, changes.patch, body.md and README, which explains how to apply them. They
// hold nothing but the change.
func LocalFiles(ctx context.Context, repo git.Tree, c Change) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "ramet-bundle-")
	if err != nil {
		return nil, durable.Failure("make a folder for", "the bundle", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "branch.bundle")
	if err := git.BundleRef(ctx, repo, "refs/heads/"+c.Branch, c.Commit, c.Base, file); err != nil {
		return nil, err
	}
	bundle, err := os.ReadFile(file)
	if err != nil {
		return nil, durable.Failure("read", file, err)
	}
	readme := fmt.Sprintf(`%s

This is a pull request as files.

branch.bundle   the branch %s, on top of commit %s
changes.patch   the same as a patch
body.md         what changed and why

To take over the branch, in a clone of the repository:

    git fetch PATH/branch.bundle %s:%s

Or the changes alone:

    git apply --index PATH/changes.patch

To go back before it is merged: git branch -D %s
`, c.Title, c.Branch, c.Base, c.Branch, c.Branch, c.Branch)
	return map[string][]byte{"branch.bundle": bundle, "changes.patch": c.Patch, "body.md": c.Body, "README": []byte(readme)}, nil
}
