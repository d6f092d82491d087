package runner

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strconv"
	"strings"

	"ramet/internal/base/markdown"
	"ramet/internal/base/text"
)

// CheckLinks looks at where the changed pages point to: files, folders and anchors of the tree
// must be there, as they are written. Addresses elsewhere are only read, never fetched.
// It needs Tree and Changes.
func CheckLinks(s *CheckSite) []Finding {
	var out findings
	for _, p := range s.pages() {
		page := s.page(p)
		if page == nil {
			continue // the gate of Markdown tells
		}
		for _, l := range page.Links() {
			s.follow(&out, p, page, l)
		}
		findUndefined(&out, p, page)
	}
	return s.added(out).sorted()
}

func (s *CheckSite) follow(out *findings, p string, page *markdown.Page, l markdown.Link) {
	to := strings.TrimSpace(l.To)
	wrong := func(code, format string, args ...any) {
		out.add(Error, code, p, l.Line, fmt.Sprintf("%s %s: ", describeLink(l), quoteAddress(l.To))+fmt.Sprintf(format, args...), "")
	}
	if to == "" {
		return // the gate of Markdown tells
	}
	if scheme, ok := schemeOf(to); ok {
		checkExternal(to, scheme, wrong, func(format string, args ...any) {
			out.add(Warn, "LINK_SCHEME", p, l.Line, fmt.Sprintf("%s %s: ", describeLink(l), quoteAddress(l.To))+fmt.Sprintf(format, args...), "")
		})
		return
	}
	if strings.HasPrefix(to, "//") {
		wrong("LINK_SCHEME", "the address has no scheme; write https: before it")
		return
	}
	if strings.Contains(to, `\`) {
		wrong("LINK_SYNTAX", "paths have slashes; write / for \\")
		return
	}
	if bytes.ContainsFunc([]byte(to), func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		wrong("LINK_SYNTAX", "it contains control characters; remove them")
		return
	}
	where, fragment, _ := strings.Cut(to, "#")
	where, _, _ = strings.Cut(where, "?")
	at, err := url.PathUnescape(where)
	if err != nil {
		wrong("LINK_SYNTAX", "its %%-codes cannot be read; write %%25 for a %%")
		return
	}
	anchor, err := url.PathUnescape(fragment)
	if err != nil {
		anchor = fragment
	}
	if at == "" {
		if anchor != "" && !hasAnchor(page, anchor) {
			wrong("LINK_ANCHOR", "the page has no such heading; name one that it has")
		}
		return
	}
	target := path.Join(path.Dir(p), at)
	if strings.HasPrefix(at, "/") {
		target = path.Join(".", at[1:])
	}
	if target == ".." || strings.HasPrefix(target, "../") || !fs.ValidPath(target) {
		wrong("LINK_OUTSIDE", "it leaves the repository; link to something inside, or by its full address")
		return
	}
	s.arrive(at, target, anchor, wrong)
}

// arrive looks at where a link ends.
func (s *CheckSite) arrive(at, target, anchor string, wrong func(code, format string, args ...any)) {
	first, _, _ := strings.Cut(target, "/")
	k := s.kind(target)
	switch {
	case strings.EqualFold(first, ".git"):
		wrong("LINK_MISSING", "git's own files are not published; link to something else")
		return
	case k == nothing:
		if other, ok := s.nearly(target); ok {
			wrong("LINK_CASE", "there is %s only; capital letters matter", quoteAddress(other))
			return
		}
		wrong("LINK_MISSING", "there is no such file; link to one that exists, or leave the link out")
		return
	case k == file && strings.HasSuffix(at, "/"):
		wrong("LINK_MISSING", "this is a file and no folder; leave the / at the end out")
		return
	}
	if anchor == "" {
		return
	}
	if k == folder {
		for _, name := range []string{"README.md", "readme.md", "Readme.md"} {
			if s.kind(path.Join(target, name)) == file {
				target, k = path.Join(target, name), file
				break
			}
		}
		if k == folder {
			wrong("LINK_ANCHOR", "a folder has no headings; link to a page in it")
			return
		}
	}
	if lines := lineAnchor().FindStringSubmatch(anchor); lines != nil {
		s.numbered(target, lines, wrong)
		return
	}
	if page := s.page(target); isPage(target) && page != nil && !hasAnchor(page, anchor) {
		wrong("LINK_ANCHOR", "the page has no such heading; name one that it has")
	}
}

var lineAnchor = text.Regexp(`^L([0-9]{1,9})(?:C[0-9]+)?(?:-L?([0-9]{1,9})(?:C[0-9]+)?)?$`)

// numbered looks at a link to lines of a file.
func (s *CheckSite) numbered(target string, m []string, wrong func(code, format string, args ...any)) {
	data, err := fs.ReadFile(s.Tree, target)
	if err != nil {
		return
	}
	lines := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		lines++
	}
	for _, text := range m[1:] {
		if n, err := strconv.Atoi(text); err == nil && (n < 1 || n > lines) {
			wrong("LINK_ANCHOR", "the file has %d lines; name lines that it has", lines)
			return
		}
	}
}

// nearly is a path that differs in capital letters only.
func (s *CheckSite) nearly(target string) (string, bool) {
	at := "."
	for name := range strings.SplitSeq(target, "/") {
		if s.kind(path.Join(at, name)) != nothing {
			at = path.Join(at, name)
			continue
		}
		found := ""
		for other := range s.entries(at) {
			if strings.EqualFold(other, name) && (found == "" || other < found) {
				found = other
			}
		}
		if found == "" {
			return "", false
		}
		at = path.Join(at, found)
	}
	return at, true
}

func hasAnchor(p *markdown.Page, name string) bool {
	// GitHub scrolls to the top for "top", whatever the page has.
	return name == "top" || p.Anchors()[strings.TrimPrefix(name, "user-content-")]
}

var scheme = text.Regexp(`^([A-Za-z][A-Za-z0-9+.-]+):`) // of two letters at least: c: is a drive

func schemeOf(to string) (string, bool) {
	// Browsers leave such characters out, and then obey.
	squeezed := strings.Map(func(r rune) rune {
		if r <= 0x20 {
			return -1
		}
		return r
	}, to)
	if m := scheme().FindStringSubmatch(squeezed); m != nil {
		return strings.ToLower(m[1]), true
	}
	return "", false
}

// checkExternal looks at an address elsewhere.
func checkExternal(to, scheme string, wrong func(code, format string, args ...any), warn func(format string, args ...any)) {
	switch scheme {
	case "javascript", "vbscript", "data", "file", "blob", "about":
		wrong("LINK_FORBIDDEN", "%s: such addresses do not belong in a page; leave it out", scheme)
		return
	case "http", "https", "ftp", "ftps":
		u, err := url.Parse(to)
		switch {
		case err != nil || strings.ContainsAny(to, " \t\n\"<>"):
			wrong("LINK_SYNTAX", "it is not a valid address; correct it")
		case u.Hostname() == "" || strings.HasPrefix(u.Host, ".") || strings.Contains(u.Host, ".."):
			wrong("LINK_SYNTAX", "it names no host; correct it")
		case u.User != nil:
			wrong("LINK_SYNTAX", "it contains a user name or password; remove them")
		}
	case "mailto":
		rest, _, _ := strings.Cut(to[len("mailto:"):], "?")
		if name, host, ok := strings.Cut(rest, "@"); !ok || name == "" || host == "" || strings.ContainsAny(rest, " \t\n") {
			wrong("LINK_SYNTAX", "it is not mail address; correct it")
		}
	case "tel", "irc", "ircs", "git", "ssh", "svn", "news", "xmpp", "matrix", "doi", "magnet", "vscode":
	default:
		warn("the scheme %s: is not known; write https: if it is a web page", scheme)
	}
}

var reference = text.Regexp(`(^|[^\w\])\\!])!?\[([^\[\]\n]+)\]\[([^\[\]\n]*)\]`)

// findUndefined finds links to definitions that the page lacks: they are shown as they are.
func findUndefined(out *findings, p string, page *markdown.Page) {
	for _, span := range page.Prose() {
		text := page.Source[span.From:span.To]
		for _, m := range reference().FindAllSubmatchIndex(text, -1) {
			name := string(text[m[6]:m[7]])
			if name == "" {
				name = string(text[m[4]:m[5]])
			}
			out.add(Error, "LINK_UNDEFINED", p, page.Line(span.From+m[4]), fmt.Sprintf("link to %s: the page does not define it; add a line [%s]: with the address, or write the address in the link", quoteAddress(name), name), "")
		}
	}
}

func describeLink(l markdown.Link) string {
	if l.Image {
		return "image"
	}
	return "link"
}

func quoteAddress(s string) string { return fmt.Sprintf("%.200q", s) }
