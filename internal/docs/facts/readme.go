package facts

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"ramet/internal/docs"
)

const sectionLimit = 80

// part is a section of a README: a heading and the lines up to the next.
type part struct {
	title    string
	level    int
	from, to int // lines
	body     []string
	bodyFrom int // line of the first of body
}

// block is a piece of code in it.
type block struct {
	language string
	code     string
	before   string // the paragraph above it
	from, to int
}

// readmeNames are the READMEs of a folder, the best first.
func (t *tree) readmeNames(dir string) []string {
	var out []string
	for _, f := range t.inv.Files {
		if f.Role == "readme" && path.Dir(f.Path) == dir {
			out = append(out, f.Path)
		}
	}
	order := []string{".md", ".markdown", ".rst", ".txt", ""}
	slices.SortStableFunc(out, func(a, b string) int {
		return slices.Index(order, strings.ToLower(path.Ext(a))) - slices.Index(order, strings.ToLower(path.Ext(b)))
	})
	return out
}

func (t *tree) readmeTitle(name string) string {
	if s := t.read(name); s != nil {
		if parts := splitReadme(s); len(parts) > 0 {
			return parts[0].title
		}
	}
	return ""
}

// readmes claims what the READMEs of the root and of the projects say: one for a folder.
func (t *tree) readmes(projects []*project) []*claim {
	dirs := []string{"."}
	for _, p := range projects {
		if !slices.Contains(dirs, p.dir) {
			dirs = append(dirs, p.dir)
		}
	}
	var out []*claim
	for _, dir := range dirs {
		names := t.readmeNames(dir)
		if len(names) == 0 {
			continue
		}
		if s := t.read(names[0]); s != nil && s.text() != "" {
			out = append(out, readmeClaims(s, dir)...)
		}
	}
	return out
}

func readmeClaims(s *source, dir string) []*claim {
	place := dir
	if dir == "." {
		place = ""
	}
	var out []*claim
	seen := map[string]int{}
	defs := linkDefs(s.text())
	rst := strings.EqualFold(path.Ext(s.path), ".rst")
	for i, p := range splitReadme(s) {
		low := strings.ToLower(p.title)
		if i >= sectionLimit || low == "table of contents" || low == "contents" || low == "toc" {
			continue
		}
		key := p.title
		if seen[fold(key)]++; seen[fold(key)] > 1 {
			key = fmt.Sprintf("%s %d", key, seen[fold(key)])
		}
		text := strings.Join(p.body, "\n")
		if rst {
			text = rstMarkdown(p.body)
		}
		text = cleanMarkdown(text, defs)
		if text != "" || i == 0 {
			out = append(out, newClaim("", docs.Readme, place, key).called(p.title).says(text).at(s, p.from, p.to))
		}
		for n, b := range blocks(p, rst) {
			name := key
			if n > 0 {
				name = fmt.Sprintf("%s %d", key, n+1)
			}
			if len(b.code) <= signatureLimit && strings.TrimSpace(b.code) != "" {
				before := b.before
				if rst {
					before = rstInline(before)
				}
				out = append(out, newClaim("", docs.Example, joinPlace(place, "readme"), name).called(p.title).spoken(b.language).
					signed(b.code).says(cleanMarkdown(before, defs)).at(s, b.from, b.to))
			}
		}
	}
	return out
}

// splitReadme cuts at headings. What stands before the first has the title of the first
// heading if that is the top one, or the name of the file.
func splitReadme(s *source) []part {
	text := s.text()
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimPrefix(tidyLines(text), "\ufeff"), "\n")
	markdown := !strings.EqualFold(path.Ext(s.path), ".rst")
	var parts []part
	cur := part{from: 1, bodyFrom: 1}
	fence := ""
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t")
		title, level, used := "", 0, 0
		if markdown {
			if mark := fenceMark(line); mark != "" && (fence == "" || strings.HasPrefix(mark, fence) && strings.Trim(line, " "+mark[:1]) == "") {
				if fence == "" {
					fence = mark
				} else {
					fence = ""
				}
			} else if fence == "" {
				title, level, used = mdHeading(lines, i)
			}
		} else {
			title, level, used = rstHeading(lines, i)
		}
		if used == 0 {
			cur.body = append(cur.body, line)
			continue
		}
		parts = closePart(parts, cur, i)
		cur = part{title: title, level: level, from: i + 1, bodyFrom: i + 1 + used}
		i += used - 1
	}
	parts = closePart(parts, cur, len(lines))
	// A preamble of badges before the title belongs to it.
	if len(parts) > 1 && parts[0].title == "" {
		if cleanMarkdown(strings.Join(parts[0].body, "\n"), nil) == "" {
			parts = parts[1:]
		} else {
			parts[0].title = titleOf(parts[0].body, s.path)
		}
	} else if len(parts) == 1 && parts[0].title == "" {
		parts[0].title = titleOf(parts[0].body, s.path)
	}
	return parts
}

// titleOf is the HTML heading of a preamble, or the name of the file.
func titleOf(body []string, file string) string {
	for _, l := range body {
		low := strings.ToLower(l)
		if strings.Contains(low, "<h1") {
			if t := unmark(l); t != "" {
				return t
			}
		}
	}
	return strings.TrimSuffix(path.Base(file), path.Ext(file))
}

func closePart(parts []part, p part, end int) []part {
	for len(p.body) > 0 && strings.TrimSpace(p.body[len(p.body)-1]) == "" {
		p.body = p.body[:len(p.body)-1]
	}
	p.to = max(p.from, p.bodyFrom-1, p.bodyFrom+len(p.body)-1)
	if p.title == "" && len(p.body) == 0 {
		return parts
	}
	p.to = min(p.to, max(end, p.from))
	return append(parts, p)
}

// tidyLines keeps the number of lines.
func tidyLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func fenceMark(line string) string {
	bare := strings.TrimLeft(line, " ")
	if len(line)-len(bare) > 3 {
		return ""
	}
	for _, c := range []string{"`", "~"} {
		if n := len(bare) - len(strings.TrimLeft(bare, c)); n >= 3 {
			return strings.Repeat(c, n)
		}
	}
	return ""
}

// mdHeading reads a heading at line i and says how many lines it takes.
func mdHeading(lines []string, i int) (title string, level, used int) {
	line := strings.TrimRight(lines[i], " \t")
	if n := len(line) - len(strings.TrimLeft(line, "#")); n > 0 && n <= 6 && len(line) > n && (line[n] == ' ' || line[n] == '\t') {
		if t := unmark(strings.TrimRight(line[n:], "# ")); t != "" {
			return t, n, 1
		}
		return "", 0, 0
	}
	if i+1 < len(lines) && line != "" && indentOf(line) < 4 && !strings.HasPrefix(strings.TrimSpace(line), "|") && (i == 0 || strings.TrimSpace(lines[i-1]) == "") {
		under := strings.TrimRight(lines[i+1], " \t")
		for level, c := range []string{"=", "-"} {
			if len(under) >= 3 && strings.Trim(under, c) == "" && !strings.HasPrefix(line, "- ") {
				if t := unmark(line); t != "" {
					return t, level + 1, 2
				}
			}
		}
	}
	return "", 0, 0
}

// rstHeading reads a title with its underline, and an overline if there is one.
func rstHeading(lines []string, i int) (title string, level, used int) {
	at := func(n int) string {
		if n < len(lines) {
			return strings.TrimRight(lines[n], " \t")
		}
		return ""
	}
	if adorned(at(i)) && at(i+1) != "" && at(i+2) == at(i) && !adorned(at(i+1)) {
		return unmark(rstInline(at(i + 1))), 1, 3
	}
	if at(i) != "" && !adorned(at(i)) && indentOf(at(i)) == 0 && adorned(at(i+1)) && len(at(i+1)) >= min(len([]rune(at(i))), 4) {
		if t := unmark(rstInline(at(i))); t != "" {
			return t, 1 + strings.IndexByte(`=-~^"'`, at(i + 1)[0]), 2
		}
	}
	return "", 0, 0
}

func adorned(line string) bool {
	return len(line) >= 3 && strings.ContainsRune("=-~^\"'`#*+.:_", rune(line[0])) && strings.Trim(line, line[:1]) == ""
}

// blocks are the pieces of code of a section.
func blocks(p part, rst bool) []block {
	var out []block
	paragraph := func(i int) string {
		for i--; i >= 0 && strings.TrimSpace(p.body[i]) == ""; i-- {
		}
		end := i + 1
		for i >= 0 && strings.TrimSpace(p.body[i]) != "" && fenceMark(p.body[i]) == "" {
			i--
		}
		if i+1 < end && indentOf(p.body[i+1]) > 3 {
			return "" // code itself
		}
		return strings.TrimSpace(strings.Join(p.body[i+1:max(end, i+1)], "\n"))
	}
	for i := 0; i < len(p.body); i++ {
		line := p.body[i]
		mark := fenceMark(line)
		if !rst && mark != "" {
			start := i
			for i++; i < len(p.body); i++ {
				if m := fenceMark(p.body[i]); strings.HasPrefix(m, mark) && strings.Trim(p.body[i], " "+mark[:1]) == "" {
					break
				}
			}
			if i >= len(p.body) {
				return out // never closed
			}
			info := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), mark[:1]))
			out = append(out, block{languageWord(info), strings.Join(p.body[start+1:i], "\n"), paragraph(start), p.bodyFrom + start, p.bodyFrom + i})
			continue
		}
		bare := strings.TrimSpace(line)
		if rst && strings.HasSuffix(bare, "::") && !strings.HasPrefix(bare, ".. image") || rst && (strings.HasPrefix(bare, ".. code") || strings.HasPrefix(bare, ".. sourcecode")) {
			start := i
			for i+1 < len(p.body) && (strings.TrimSpace(p.body[i+1]) == "" || indentOf(p.body[i+1]) > indentOf(line)) {
				i++
			}
			_, info, _ := strings.Cut(bare, "::")
			code := fenced("", p.body[start+1:i+1])
			if len(code) > 4 {
				before := strings.TrimSuffix(bare, ":")
				if strings.HasPrefix(bare, ".. ") || bare == "::" {
					before = paragraph(start)
				}
				out = append(out, block{languageWord(info), strings.Join(code[2:len(code)-2], "\n"), before, p.bodyFrom + start, p.bodyFrom + i})
			}
		}
	}
	return out
}

// languageWord is the first word of a fence's info, in our spelling.
func languageWord(info string) string {
	words := strings.FieldsFunc(strings.ToLower(info), func(r rune) bool { return strings.ContainsRune(" ,{}\t.:", r) })
	if len(words) == 0 {
		return ""
	}
	for _, same := range [][]string{
		{"go", "golang"}, {"python", "py", "python3", "pycon"}, {"javascript", "js", "jsx", "node"}, {"typescript", "ts", "tsx"},
		{"rust", "rs"}, {"sh", "bash", "shell", "console", "zsh", "shell-session", "terminal", "cmd"},
	} {
		if slices.Contains(same, words[0]) {
			return same[0]
		}
	}
	return oneLine(words[0], 20)
}
