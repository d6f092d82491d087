package plan

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"

	"ramet/internal/docs"
)

// page makes a page at a path of its own; names are the parts of the path below the
// folder, without the ending.
func (m *maker) page(title, brief string, claims []docs.Claim, names ...string) docs.Page {
	p := docs.Page{Title: cmp.Or(title, m.project), Brief: brief, Path: m.free(names...)}
	p.Update = m.exists(p.Path)
	for _, c := range claims {
		p.Claims = append(p.Claims, c.ID)
	}
	return p
}

// free is a path that no other page has.
func (m *maker) free(names ...string) string {
	for i, n := range names {
		names[i] = slug(n)
	}
	base := path.Join(append([]string{m.dir}, names...)...)
	for n := 1; ; n++ {
		p := base + ".md"
		if n > 1 {
			p = fmt.Sprintf("%s-%d.md", base, n)
		}
		if key := strings.ToLower(p); !m.taken[key] {
			m.taken[key] = true
			return p
		}
	}
}

// longest is how many bytes of a name stand in a path.
const longest = 60

// reserved are names that Windows keeps for itself.
var reserved = regexp.MustCompile(`^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

// slug is a name as a path may have it anywhere: letters, digits, hyphens.
func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' && b.Len() > 0:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == longest {
			break
		}
	}
	out := strings.Trim(b.String(), "-_")
	if out == "" {
		return "page"
	}
	if reserved.MatchString(out) {
		return out + "-page"
	}
	return out
}
