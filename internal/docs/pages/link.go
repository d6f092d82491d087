package pages

import (
	"bytes"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"ramet/internal/docs"
	"ramet/internal/docs/markdown"
)

// The headings under which links are added.
const (
	contents = "Contents"
	seeAlso  = "See also"
)

// Insert says that lines were added to a page: Count of them behind the line After, which
// is counted with those that were added before it. 0 is the top.
type Insert struct {
	Path  string
	After int
	Count int
}

// Link adds the links that the plan wants and the pages lack: the index lists all
// sections with their pages, and pages point to those related to them. The tree holds
// all pages, by path; it is not changed. A page that would not get its link by what is
// added, since it ends inside code for instance, is left as it is.
func Link(tree map[string][]byte, plan docs.Plan) (map[string][]byte, []Insert) {
	out := maps.Clone(tree)
	if out == nil {
		out = map[string][]byte{}
	}
	var added []Insert
	index := Index(plan)
	for _, s := range plan.Sections {
		for _, p := range s.Pages {
			page, ok := out[p.Path]
			if !ok || p.Path == index {
				continue // the index has its own list
			}
			e := editor{path: p.Path, page: page, tree: tree}
			e.list(seeAlso, "", e.missing(p.Related))
			out[p.Path] = e.page
			added = append(added, e.added...)
		}
	}
	page, ok := out[index]
	if !ok {
		if len(tree) == 0 || index == "" {
			return out, added
		}
		page = []byte("# " + escape(plan.Title) + "\n")
	}
	e := editor{path: index, page: page, tree: tree}
	for _, s := range plan.Sections {
		var pages []string
		for _, p := range s.Pages {
			pages = append(pages, p.Path)
		}
		e.list(contents, s.Title, e.missing(pages))
	}
	if ok || len(e.added) > 0 {
		out[index] = e.page
	}
	if ok {
		added = append(added, e.added...)
	}
	return out, added
}

// Index is the path of the page that lists the others: the plan's index.md or README.md
// in the folder of all pages, else the README.md there, which is made. It is "" for a plan
// without pages, and where it would be the README of the repository, which is left alone.
func Index(plan docs.Plan) string {
	folder, any := "", false
	planned := map[string]bool{}
	for _, s := range plan.Sections {
		for _, p := range s.Pages {
			planned[p.Path] = true
			if !any {
				folder, any = path.Dir(p.Path), true
			}
			for folder != "." && !strings.HasPrefix(p.Path, folder+"/") {
				folder = path.Dir(folder)
			}
		}
	}
	if !any {
		return ""
	}
	for _, name := range []string{"index.md", "README.md", "readme.md", "Index.md"} {
		if at := path.Join(folder, name); planned[at] {
			return at
		}
	}
	if folder == "." {
		return ""
	}
	return path.Join(folder, "README.md")
}

// editor adds lists of links to a page.
type editor struct {
	path  string
	page  []byte
	tree  map[string][]byte
	added []Insert
}

// missing are those of the pages that exist and that the page does not link to.
func (e *editor) missing(pages []string) []string {
	parsed, err := markdown.Parse(e.page)
	if err != nil {
		return nil
	}
	linked := linkedFrom(parsed, e.path)
	var out []string
	for _, p := range pages {
		if _, exists := e.tree[p]; exists && p != e.path && !linked[p] {
			linked[p] = true
			out = append(out, p)
		}
	}
	return out
}

// linkedFrom are the paths that a page links to.
func linkedFrom(page *markdown.Page, from string) map[string]bool {
	out := map[string]bool{}
	for _, l := range page.Links() {
		to, err := url.Parse(l.To)
		if err != nil || l.Image || to.Scheme != "" || to.Host != "" || to.Path == "" {
			continue
		}
		at := path.Join(path.Dir(from), to.Path)
		if strings.HasPrefix(to.Path, "/") {
			at = path.Clean(to.Path[1:])
		}
		out[at] = true
		if strings.HasSuffix(to.Path, "/") { // a folder is shown by its first page
			out[path.Join(at, "README.md")] = true
			out[path.Join(at, "index.md")] = true
		}
	}
	return out
}

// list puts links under a heading of the second level, and one of the third where part
// names it; what is missing of these is made.
func (e *editor) list(heading, part string, pages []string) {
	if len(pages) == 0 {
		return
	}
	next, in, ok := e.with(heading, part, pages)
	if !ok {
		return
	}
	// What is linked now and was missing is the proof that it stands in the right place.
	proof := editor{path: e.path, page: next, tree: e.tree}
	if len(proof.missing(pages)) > 0 || !keeps(e.page, next) {
		return
	}
	e.page = next
	e.added = append(e.added, in)
}

// keeps says whether the code, the headings and the HTML of a page are all still there.
func keeps(before, after []byte) bool {
	a, err := markdown.Parse(before)
	if err != nil {
		return false
	}
	b, err := markdown.Parse(after)
	if err != nil {
		return false
	}
	left := b.Headings()
	for _, h := range a.Headings() {
		i := slices.IndexFunc(left, func(l markdown.Heading) bool { return l.Level == h.Level && l.Text == h.Text })
		if i < 0 {
			return false
		}
		left = left[i+1:]
	}
	return len(a.HTML()) == len(b.HTML()) && len(a.Links()) < len(b.Links())
}

// item is a line of a list.
func (e *editor) item(bullet, to string) string {
	return bullet + " [" + escape(e.title(to)) + "](" + relative(e.path, to) + ")"
}

// title is the heading of a page, or its name.
func (e *editor) title(at string) string {
	if parsed, err := markdown.Parse(e.tree[at]); err == nil {
		for _, h := range parsed.Headings() {
			if h.Level == 1 && h.Text != "" {
				return strings.Join(strings.Fields(h.Text), " ")
			}
		}
	}
	return strings.TrimSuffix(path.Base(at), path.Ext(at))
}

// relative is a link from one page to another.
func relative(from, to string) string {
	base, target := strings.Split(path.Dir(from), "/"), strings.Split(to, "/")
	if path.Dir(from) == "." {
		base = nil
	}
	for len(base) > 0 && len(target) > 1 && base[0] == target[0] {
		base, target = base[1:], target[1:]
	}
	var parts []string
	for range base {
		parts = append(parts, "..")
	}
	for _, t := range target {
		// Parentheses are fine in an address, and end a link.
		parts = append(parts, strings.NewReplacer("(", "%28", ")", "%29").Replace(url.PathEscape(t)))
	}
	link := strings.Join(parts, "/")
	if first, _, _ := strings.Cut(link, "/"); strings.Contains(first, ":") {
		link = "./" + link // it would be a scheme
	}
	return link
}

var special = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "&", `\&`, "|", `\|`, "~", `\~`, "!", `\!`, "\n", " ")

// escape is a text that Markdown shows as it is. An underscore within a word is left: it
// means nothing there, and names are full of them.
func escape(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		plain := strings.Trim(w, "_")
		if strings.ContainsAny(plain, "`*[]<>&|~!\\") || plain != w {
			words[i] = special.Replace(w)
		}
	}
	return strings.Join(words, " ")
}

// newline is the line end of a page.
func newline(page []byte) string {
	if bytes.Contains(page, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
