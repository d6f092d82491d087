package docs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ramet/internal/base/text"
)

// starter returns an overview by program: the first sentences of the project's own text, how it is installed or
// used as far as that is one piece of code, and the other pages. It is small and right: what
// would not pass the gate is left out.
func (m *planner) starter(p Page) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", p.Title)
	said := false
	if name := m.readme(); name != "" {
		said = m.fromReadme(&b, name)
	}
	if !said {
		said = m.fromManifest(&b)
	}
	if !said {
		return ""
	}
	if all := pageLinks(m.Plan, p); len(all) > 0 {
		b.WriteString("## Read on\n\n")
		for _, to := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(&b, "- [%s](%s)\n", all[to], to)
		}
	}
	return b.String()
}

func (m *planner) readme() string {
	for _, f := range m.repo.Files {
		if lower := strings.ToLower(f); lower == "readme.md" || lower == "readme.rst" || lower == "readme" || lower == "readme.txt" || lower == "readme.markdown" {
			return f
		}
	}
	return ""
}

var (
	readmeLink = text.Regexp(`!?\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\])`)
	rstLink    = text.Regexp("`([^`<]+?)\\s*<[^`>]+>`__?")
	useHeading = text.Regexp(`(?i)^(?:#+ *)?(?:quick ?start|install(?:ation|ing)?|usage|use|getting started|examples?)\s*#*$`)
)

// piece is a paragraph or a code block of a README.
type piece struct {
	from, to int
	code     bool
	lang     string
	lines    []string
	under    string // the heading above it
}

// fromReadme writes the first paragraphs that are sentences, and the first code of a section
// about use.
func (m *planner) fromReadme(b *strings.Builder, name string) bool {
	pieces := readPieces(m.repo.Text(name))
	said, shown := 0, false
	for _, p := range pieces {
		cite := MarkStatements(Cite{File: name, From: p.from, To: p.to})
		if !p.code && said < 2 && !useHeading().MatchString(p.under) {
			text := rstLink().ReplaceAllString(readmeLink().ReplaceAllString(strings.Join(p.lines, " "), "$1"), "$1")
			text = strings.Join(strings.Fields(text), " ")
			if words := len(strings.Fields(text)); words >= 2 && words < 120 && strings.ContainsAny(text[len(text)-1:], ".:!") && m.proved(text+" "+cite) {
				b.WriteString(strings.TrimSuffix(text, ":") + " " + cite + "\n\n")
				said++
			}
		}
	}
	for _, p := range pieces {
		if p.code && !shown && said > 0 && useHeading().MatchString(p.under) && len(p.lines) <= 30 {
			cite := MarkStatements(Cite{File: name, From: p.from, To: p.to})
			text := fmt.Sprintf("## %s\n\n```%s\n%s\n```\n%s\n\n", strings.Trim(p.under, "# "), p.lang, strings.Join(p.lines, "\n"), cite)
			if shown = m.proved(text); shown {
				b.WriteString(text)
			}
		}
	}
	return said > 0
}

// readPieces cuts a README into paragraphs and code blocks.
func readPieces(text string) []piece {
	var out []piece
	under, fence, open := "", "", false
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		bare := strings.TrimSpace(line)
		last := len(out) - 1
		switch {
		case fence != "":
			if out[last].to = n; strings.HasPrefix(bare, fence) {
				fence = ""
			} else {
				out[last].lines = append(out[last].lines, line)
			}
		case strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~"):
			fence, open = bare[:3], false
			lang, _, _ := strings.Cut(strings.Trim(bare, "`~ "), " ")
			if strings.ContainsAny(lang, "{}") {
				lang = ""
			}
			out = append(out, piece{from: n, to: n, code: true, lang: lang, under: under})
		case bare == "":
			open = false
		case strings.HasPrefix(bare, "#"):
			under, open = bare, false
		case isUnderline(bare) && open && len(out[last].lines) == 1:
			under, open = out[last].lines[0], false
			out = out[:last]
		case open:
			out[last].lines, out[last].to = append(out[last].lines, bare), n
		default:
			out = append(out, piece{from: n, to: n, lines: []string{bare}, under: under})
			open = true
		}
	}
	return out
}

// isUnderline reports whether a line makes a heading of the one above it.
func isUnderline(s string) bool {
	return len(s) >= 3 && strings.Trim(s, s[:1]) == "" && strings.ContainsAny(s[:1], "=-~^\"'*+")
}

var described = []struct {
	file string
	form func() *regexp.Regexp
}{
	{"package.json", text.Regexp(`^\s*"description"\s*:\s*"([^"\\]+)"`)},
	{"pyproject.toml", text.Regexp(`^description\s*=\s*"([^"\\]+)"`)},
	{"Cargo.toml", text.Regexp(`^description\s*=\s*"([^"\\]+)"`)},
	{"setup.cfg", text.Regexp(`^description\s*=\s*(\S.*)$`)},
}

// fromManifest writes the description of a manifest or a Go package.
func (m *planner) fromManifest(b *strings.Builder) bool {
	for _, d := range described {
		n := 0
		for line := range strings.Lines(m.repo.Text(d.file)) {
			n++
			found := d.form().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
			if found == nil {
				continue
			}
			text := strings.TrimSuffix(found[1], ".") + ". " + MarkStatements(Cite{File: d.file, From: n, To: n})
			if m.proved(text) {
				b.WriteString(text + "\n\n")
				return true
			}
		}
	}
	for _, p := range m.Pages {
		if p.Section != "reference" {
			continue
		}
		_, text, _ := strings.Cut(m.refs.Pages[p.Path], "\n\n")
		if first, _, _ := strings.Cut(text, "\n\n"); first != "" && !strings.HasPrefix(first, "#") && m.proved(first) {
			b.WriteString(first + "\n\n")
			return true
		}
	}
	return false
}

// proved reports whether a piece of a page would pass the gate.
func (m *planner) proved(text string) bool {
	return !strings.Contains(text, "~~~") && passesCheck(text+"\n", m.repo)
}
