package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"

	"ramet/internal/base/text"
	"ramet/internal/core/trust"
)

// digestOf identifies a definition of a server's tool: how the server is reached, and all that the
// model is told of the tool. Variables and headers are left out, because keys in them change.
func digestOf(s Server, about ...any) string {
	raw, _ := json.Marshal([]any{1, s.Name, s.Command, cmp.Or(s.Shown, s.URL), s.Project, about}) // of texts
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// addDigests sets the digest of each tool, and the one under which it was first seen: before is the
// list that was known until now, which is empty if the server was never asked.
func addDigests(s Server, before List, tools []Definition) {
	seen := map[string]string{}
	for _, d := range before.Tools {
		seen[d.Tool] = cmp.Or(d.First, d.Digest)
	}
	for i := range tools {
		d := &tools[i]
		d.Digest = digestOf(s, d.Tool, d.Title, d.Description, d.Schema, d.ReadOnly)
		switch first := seen[d.Tool]; {
		case before.Fingerprint == "":
			d.First = d.Digest
		case first == "":
			d.First = addedLater
		default:
			d.First = first
		}
	}
}

// addedLater is the First of a tool that the server did not have when it was first asked.
const addedLater = "later"

// Changed describes how a tool differs from what was first seen of its server; empty if it does not.
func (d Definition) Changed() string {
	switch d.First {
	case "", d.Digest:
		return ""
	case addedLater:
		return "its server added it later"
	}
	return "its description or arguments changed since it was first seen"
}

// unproven returns why a rule by name alone does not permit a tool of a server; empty if it does.
func (s Server) unproven(d Definition) string {
	if s.Project {
		return "a project's server can take any name"
	}
	return d.Changed()
}

// Accept makes the tools of a server, as they are now, those that rules by name permit.
func (p *Pool) Accept(name string) error {
	h, err := p.holder(name)
	if err != nil {
		return err
	}
	l, ok := p.Known(name)
	if !ok {
		return nil // they are taken as they are when the server is first asked
	}
	for i := range l.Tools {
		l.Tools[i].First = l.Tools[i].Digest
	}
	p.mu.Lock()
	p.lists[name] = l
	p.mu.Unlock()
	p.keep(h.server, l)
	return nil
}

// Address returns where a service is, for people: as it is configured, without what stands before its host and
// behind its path. Keys stand there.
func (s Server) Address() string {
	shown := cmp.Or(s.Shown, s.URL)
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
