package mcp

import (
	"net/url"
	"strings"

	"ramet/internal/base/text"
	"ramet/internal/core/trust"
)

// Address returns where a service is, for people: as it is configured, without what stands before its host and
// behind its path. Keys stand there.
func (s Server) Address() string {
	shown := s.Shown
	if shown == "" {
		shown = s.URL
	}
	shown, _, cut := strings.Cut(shown, "?")
	if scheme, rest, ok := strings.Cut(shown, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		host = host[strings.LastIndexByte(host, '@')+1:]
		shown = strings.TrimSuffix(scheme+"://"+host+"/"+path, "/")
	}
	if cut {
		shown += "?…"
	}
	return shown
}

// says returns what an error says, with the address for people instead of the one that was asked.
func (s Server) says(err error) string {
	out := err.Error()
	if u, wrong := url.Parse(s.URL); s.URL != "" && wrong == nil {
		forms := []string{s.URL, u.String(), u.Redacted()}
		if u.User != nil { // as errors of HTTP write it
			forms = append(forms, strings.Replace(u.String(), u.User.String()+"@", u.User.Username()+":***@", 1))
		}
		for _, form := range forms {
			out = strings.ReplaceAll(out, form, s.Address())
		}
		if u.RawQuery != "" {
			out = strings.ReplaceAll(out, u.RawQuery, "…")
		}
	}
	return text.Line(trust.Reveal(out), 300)
}
