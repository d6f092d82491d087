package forge

import (
	"net"
	"net/url"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/files/git"
)

// Variables are those that configure forges. They hold tokens: no tool may find them in
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
