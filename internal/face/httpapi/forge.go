package httpapi

import (
	"net/url"
	"path"
	"strings"
)

// forges are told by their host: a part of its name says what runs there, also where
// people run it themselves. Each has its own path to a commit.
var forges = []struct{ word, commits string }{
	{"github", "/commit/"},
	{"gitlab", "/-/commit/"},
	{"gitea", "/commit/"},
	{"forgejo", "/commit/"},
	{"codeberg", "/commit/"},
}

// forgeURL is the address of a repository in a browser, and the path to its commits,
// from the URL of a remote. Users, passwords and tokens in it are left out.
func forgeURL(remote string) (repo, commits string, ok bool) {
	scheme, host, folder := splitRemote(strings.TrimSpace(remote))
	folder = strings.TrimSuffix(strings.Trim(folder, "/"), ".git")
	if host == "" || !strings.Contains(folder, "/") || path.Clean(folder) != folder || strings.HasPrefix(folder, "..") {
		return "", "", false
	}
	for _, forge := range forges {
		if strings.Contains(strings.ToLower(host), forge.word) {
			u := url.URL{Scheme: scheme, Host: host, Path: "/" + folder}
			return u.String(), forge.commits, true
		}
	}
	return "", "", false
}

// splitRemote reads https://, http://, ssh:// and git:// URLs, and the short form
// user@host:folder of ssh.
func splitRemote(remote string) (scheme, host, folder string) {
	if strings.Contains(remote, "://") {
		u, err := url.Parse(remote)
		if err != nil || u.RawQuery != "" || u.Fragment != "" || !plainHost(u.Host) {
			return "", "", ""
		}
		switch u.Scheme {
		case "http", "https":
			return u.Scheme, u.Host, u.Path
		case "ssh", "git", "git+ssh":
			return "https", u.Hostname(), u.Path // the port is that of ssh
		}
		return "", "", ""
	}
	host, folder, found := strings.Cut(remote, ":")
	if _, after, user := strings.Cut(host, "@"); user {
		host = after
	}
	if !found || !plainHost(host) {
		return "", "", ""
	}
	return "https", host, folder
}

func plainHost(host string) bool {
	return host != "" && !strings.ContainsFunc(host, func(r rune) bool {
		return !(r == '.' || r == '-' || r == ':' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
}
