package runner

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"

	"ramet/internal/base/markdown"
	"ramet/internal/base/text"
)

// CheckMarkdown looks at the form of the changed pages. New ones need one title at their top
// besides. It needs Tree and Changes.
func CheckMarkdown(s *CheckSite) []Finding {
	var out findings
	for _, p := range s.pages() {
		data, err := fs.ReadFile(s.Tree, p)
		if err != nil {
			out.add(Error, "FILE_UNREADABLE", p, 0, "the file cannot be read: write it again", "")
			continue
		}
		made := slices.ContainsFunc(s.Changes, func(c FileChange) bool { return c.Path == p && c.OldMode == "" })
		markdownPage(&out, p, data, made)
	}
	return s.added(out).sorted()
}

// pageChecker looks at one page.
type pageChecker struct {
	out  *findings
	path string
	page *markdown.Page
}

func (l pageChecker) add(s Severity, code string, line int, message, fix string) {
	l.out.add(s, code, l.path, line, message, fix)
}

func markdownPage(out *findings, p string, data []byte, own bool) {
	l := pageChecker{out: out, path: p}
	if !l.bytes(data) {
		return
	}
	page, err := markdown.Parse(data)
	if err != nil {
		l.add(Error, "MD_UNREADABLE", 0, "the page cannot be read as Markdown: "+err.Error(), "")
		return
	}
	l.page = page
	l.lines()
	l.headings(own)
	l.blocks()
	l.links()
	l.html()
}

// bytes looks at the page as a file; false: it is not worth a closer look.
func (l pageChecker) bytes(data []byte) bool {
	if !utf8.Valid(data) {
		l.add(Error, "MD_NOT_UTF8", 0, "the page is not UTF-8: write it again as UTF-8", "")
		return false
	}
	if len(bytes.TrimSpace(data)) == 0 {
		l.add(Error, "MD_EMPTY", 0, "the page is empty: write it, or leave it out", "")
		return false
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		l.add(Error, "MD_NO_FINAL_NEWLINE", 0, "the last line does not end: end the file with a line feed", "")
	}
	if bytes.HasPrefix(data, []byte("\n")) || bytes.HasPrefix(data, []byte("\r\n")) || bytes.HasSuffix(data, []byte("\n\n")) || bytes.HasSuffix(data, []byte("\n\r\n")) {
		l.add(Warn, "MD_BLANK_EDGE", 0, "the page begins or ends with blank lines: leave them out", "")
	}
	if n := bytes.Count(data, []byte("\r\n")); n > 0 && n != bytes.Count(data, []byte("\n")) {
		l.add(Warn, "MD_MIXED_LINE_ENDS", 0, "lines end in two ways: use line feeds alone", "")
	}
	line := 1
	for i, r := range string(data) {
		if r == '\n' {
			line++
		}
		if i == 0 && r == '\uFEFF' {
			l.add(Warn, "MD_BYTE_ORDER_MARK", 1, "the page begins with a byte order mark: leave it out", "")
			continue
		}
		if r == '\r' && strings.HasPrefix(string(data[i:min(len(data), i+2)]), "\r\n") {
			continue
		}
		if isInvisible(r) {
			l.add(Error, "MD_CONTROL_CHARACTER", line, fmt.Sprintf("an invisible character (%U): leave it out", r), "")
		}
	}
	return true
}

// isInvisible reports whether a character is a control character, or a mark that turns text
// around or hides it. Joiners stay: scripts and emoji need them.
func isInvisible(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) ||
		r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0x2029 || r == 0xfeff ||
		r >= 0xe0000 && r <= 0xe007f || // tags: a text within the text
		unicode.Is(unicode.Noncharacter_Code_Point, r)
}

var conflict = text.Regexp(`^(?:<{7}|>{7}|\|{7})(?: |$)`)

// lines looks for marks of merge conflicts. Code may show such lines.
func (l pageChecker) lines() {
	inCode := map[int]bool{}
	l.walk(func(n ast.Node) {
		if k := n.Kind(); k == ast.KindFencedCodeBlock || k == ast.KindCodeBlock {
			for i := range n.Lines().Len() {
				inCode[l.page.Line(n.Lines().At(i).Start)] = true
			}
		}
	})
	for n := 1; n <= l.page.Lines(); n++ {
		if !inCode[n] && conflict().Match(l.page.Text(n)) {
			l.add(Error, "MD_CONFLICT", n, "a mark of a merge conflict: settle the conflict and remove the marks", "")
		}
	}
}

func (l pageChecker) walk(visit func(ast.Node)) {
	ast.Walk(l.page.Root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			visit(n)
		}
		return ast.WalkContinue, nil
	})
}

// headings looks at the outline.
func (l pageChecker) headings(own bool) {
	titles, before := 0, 0
	for _, h := range l.page.Headings() {
		if h.Empty {
			l.add(Error, "MD_HEADING_EMPTY", h.Line, "a heading has no text: give it one, or leave it out", "")
		}
		if h.Level == 1 {
			titles++
			if titles == 2 && own {
				l.add(Error, "MD_MANY_TITLES", h.Line, fmt.Sprintf("a second title, %.200q: a page has one heading of the first level; make it one of the second", h.Text), "")
			}
		}
		if before > 0 && h.Level > before+1 {
			l.add(Error, "MD_HEADING_JUMP", h.Line, fmt.Sprintf("heading %.200q is of level %d below one of level %d: make it level %d", h.Text, h.Level, before, before+1), "")
		}
		before = h.Level
	}
	if !own || titles == 0 && l.page.Front > 0 { // which may hold it
		return
	}
	if titles == 0 {
		l.add(Error, "MD_NO_TITLE", 0, "the page has no title: begin it with a heading of the first level", "")
		if fence, ok := l.page.Root.FirstChild().(*ast.FencedCodeBlock); ok && l.page.Root.ChildCount() == 1 && slices.Contains([]string{"", "markdown", "md"}, strings.ToLower(string(fence.Language(l.page.Source)))) {
			l.add(Error, "MD_WRAPPED", 1, "the whole page is in a code block: remove the fences", "")
		}
		return
	}
	if first, ok := l.page.Root.FirstChild().(*ast.Heading); !ok || first.Level != 1 {
		if n := l.firstText(); n != nil {
			l.add(Error, "MD_TEXT_BEFORE_TITLE", l.page.LineOf(n), "there is text before the title: begin the page with the title", "remove it, or move it below the title")
		}
	}
}

// firstText is the first block, if it is neither the title nor HTML: badges and comments
// may stand before it.
func (l pageChecker) firstText() ast.Node {
	for n := l.page.Root.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHTMLBlock {
			continue
		}
		if h, ok := n.(*ast.Heading); ok && h.Level == 1 {
			return nil
		}
		return n
	}
	return nil
}

// links looks at links and images as text; where they lead is another gate's.
func (l pageChecker) links() {
	for _, k := range l.page.Links() {
		to := strings.TrimSpace(k.To)
		switch {
		case k.Image && to == "":
			l.add(Error, "MD_IMAGE_EMPTY", k.Line, "an image has no address: give it one, or leave it out", "")
		case to == "" || to == "#":
			l.add(Error, "MD_LINK_EMPTY", k.Line, fmt.Sprintf("link %.200q leads nowhere: give it an address, or leave it out", k.Text), "")
		case k.Empty && k.Image:
			l.add(Warn, "MD_IMAGE_TEXT", k.Line, fmt.Sprintf("image %.200q has no alternative text: describe it", to), "")
		case k.Empty:
			l.add(Error, "MD_LINK_EMPTY", k.Line, fmt.Sprintf("the link to %.200q has no text: name what it leads to", to), "")
		}
	}
}

// html looks at raw HTML: comments, and tags that do no harm.
func (l pageChecker) html() {
	for _, h := range l.page.HTML() {
		if line := h.OpenComment(); line > 0 {
			l.add(Error, "MD_COMMENT_OPEN", line, "a comment is not closed and hides what follows: end it with -->", "")
		}
		for _, t := range h.Tags() {
			l.tag(t)
		}
	}
	for _, s := range l.page.Prose() {
		text := l.page.Source[s.From:s.To]
		if i := placeholder().FindIndex(text); i != nil {
			l.add(Warn, "MD_PLACEHOLDER", l.page.Line(s.From+i[0]), fmt.Sprintf("%q is left to be written: write it, or leave it out", text[i[0]:i[1]]), "")
		}
	}
}

var placeholder = text.Regexp(`\b(?:TODO|TBD|FIXME|XXX)\b|(?i:\blorem ipsum\b)`)

var delimiter = text.Regexp(`^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$|^[ \t>]*\|[ \t]*:?-+:?[ \t]*\|[ \t]*$`)

// blocks looks at code and tables.
func (l pageChecker) blocks() {
	l.walk(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			if !markdown.IsClosed(n) {
				l.add(Error, "MD_FENCE_OPEN", l.page.LineOf(n), "a code block is not closed: end it with a line of the same fence", "")
			}
		case *extension.Table:
			l.table(n)
		case *ast.Paragraph:
			l.brokenTable(n)
		}
	})
}

// countColumns counts the cells of a row as Markdown does: a bar counts unless a backslash
// comes before it, in code too.
func countColumns(line string) int {
	line = strings.Trim(strings.TrimLeft(line, " \t>"), " \t")
	line = strings.TrimPrefix(line, "|")
	if strings.HasSuffix(line, "|") && !strings.HasSuffix(line, `\|`) {
		line = line[:len(line)-1]
	}
	n := 1
	for i := range len(line) {
		if line[i] == '|' && (i == 0 || line[i-1] != '\\') {
			n++
		}
	}
	return n
}

func (l pageChecker) table(t *extension.Table) {
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		line := 0
		for c := row.FirstChild(); c != nil && line == 0; c = c.NextSibling() {
			if c.Lines() != nil && c.Lines().Len() > 0 {
				line = l.page.Line(c.Lines().At(0).Start)
			}
		}
		if line == 0 {
			continue
		}
		text := string(l.page.Text(line))
		// In a list the mark of the item comes before the first row.
		if bar := strings.Index(text, "|"); bar > 0 && listMark().MatchString(text[:bar]) {
			text = text[bar:]
		}
		if got := countColumns(text); got != len(t.Alignments) {
			l.add(Error, "MD_TABLE_COLUMNS", line, fmt.Sprintf("a row has %d cells and the table %d columns: give all rows as many, and write \\| for a bar in a cell: %.80s", got, len(t.Alignments), strings.TrimSpace(text)), "")
		}
	}
}

var listMark = text.Regexp(`^[ \t>]*(?:[-*+]|[0-9]+[.)])[ \t]+$`)

// brokenTable finds what was meant as a table and is none.
func (l pageChecker) brokenTable(p *ast.Paragraph) {
	for i := 1; i < p.Lines().Len(); i++ {
		s := p.Lines().At(i)
		text := strings.TrimRight(string(s.Value(l.page.Source)), "\r\n")
		if delimiter().MatchString(text) {
			l.add(Error, "MD_TABLE_COLUMNS", l.page.Line(s.Start), "a table is not shown as one, since its first two rows differ in their number of columns: give both as many", "")
			return
		}
	}
}

// tags are those that GitHub shows and pages may need.
var tags = strings.Fields(`a abbr b blockquote br cite code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd
	li mark ol p picture pre q s samp small source span strong sub summary sup table tbody td tfoot th thead tr u ul var wbr`)

// harmful are those that run, load or ask for something.
var harmful = strings.Fields(`script iframe object embed applet frame frameset form input button select textarea base link meta style
	svg math video audio track template slot portal noscript xml title body head html plaintext xmp marquee isindex import`)

var (
	handler  = text.Regexp(`(?i)[\s"'/]on[a-z]+\s*=`)
	address  = text.Regexp(`(?i)[\s"'/](?:href|src|srcset|action|formaction|xlink:href|background|poster|cite|longdesc)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	styling  = text.Regexp(`(?i)[\s"'/]style\s*=`)
	quoted   = text.Regexp(`=\s*(?:"[^"]*"|'[^']*')`)
	wordLike = text.Regexp(`^</?[A-Za-z][\w.:-]*\s*/?>$`)
)

// tag looks at one tag of HTML.
func (l pageChecker) tag(t markdown.Tag) {
	switch {
	case slices.Contains(harmful, t.Name):
		l.add(Error, "MD_HTML_HARMFUL", t.Line, fmt.Sprintf("<%s> does not belong in a page: leave it out", t.Name), "")
		return
	case !slices.Contains(tags, t.Name):
		fix := ""
		if wordLike().MatchString(t.Text) {
			fix = fmt.Sprintf("write `%s` with backticks", t.Text)
		}
		l.add(Error, "MD_HTML", t.Line, fmt.Sprintf("%.100s is read as HTML and not shown: put it in backticks, or write &lt; for its <", t.Text), fix)
		return
	}
	if handler().MatchString(quoted().ReplaceAllString(t.Text, `="" `)) {
		l.add(Error, "MD_HTML_HARMFUL", t.Line, fmt.Sprintf("<%s> has a handler of events: leave the on… attribute out", t.Name), "")
	}
	if styling().MatchString(quoted().ReplaceAllString(t.Text, `="" `)) {
		l.add(Warn, "MD_HTML_STYLE", t.Line, fmt.Sprintf("<%s> has a style, which is not shown: leave it out", t.Name), "")
	}
	for _, m := range address().FindAllStringSubmatch(t.Text, -1) {
		to := html.UnescapeString(m[1] + m[2] + m[3])
		if s, ok := schemeOf(to); ok && (s == "javascript" || s == "vbscript" || s == "data") {
			l.add(Error, "MD_HTML_HARMFUL", t.Line, fmt.Sprintf("<%s> has a %s: address: leave it out", t.Name, s), "")
		}
	}
}

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

// nearly returns a path that differs in capital letters only.
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
