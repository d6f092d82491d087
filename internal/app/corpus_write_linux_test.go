package app_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// What scripted models write: one copies what the repository says, with citations, and one lies.

// copies is a model that copies paragraphs and code of the README and of CONTRIBUTING.
func (d *planned) copies(t *testing.T) *script {
	s := &script{}
	readme := d.find("readme.md", "readme.rst", "readme")
	sources := map[string]struct {
		file  string
		under string
	}{
		"overview":     {readme, ``},
		"guide":        {readme, `(?i)install|usage|getting started|quick|example|how to|basic`},
		"contributing": {d.find("contributing.md", "contributing.rst", ".github/contributing.md"), ``},
	}
	for _, p := range d.Pages {
		from, ok := sources[p.Section]
		if !ok || p.Draft == "" {
			continue
		}
		body := ""
		if from.file != "" {
			body = excerpt(read(t, filepath.Join(d.tree, from.file)), from.file, regexp.MustCompile(from.under))
		}
		if body == "" {
			s.writes(p.Section, map[string]string{strings.TrimSuffix(p.Draft, ".md") + ".none": "The repository does not say it."})
			continue
		}
		s.writes(p.Section, map[string]string{p.Draft: "# " + p.Title + "\n\n" + body + d.others(p.Path)})
	}
	return s
}

// others are links to the other pages.
func (d *planned) others(from string) string {
	var b strings.Builder
	for _, p := range d.Pages {
		if p.Path != from && p.Draft == "" && path.Dir(p.Path) == path.Dir(from) {
			fmt.Fprintf(&b, "- [%s](%s)\n", p.Title, path.Base(p.Path))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "## Read on\n\n" + b.String()
}

// find is the first file of those names, whatever their case.
func (d *planned) find(names ...string) string {
	for _, want := range names {
		entries, _ := os.ReadDir(filepath.Join(d.tree, path.Dir(want)))
		for _, e := range entries {
			if strings.EqualFold(e.Name(), path.Base(want)) && e.Type().IsRegular() {
				return path.Join(path.Dir(want), e.Name())
			}
		}
	}
	return ""
}

func read(t *testing.T, at string) string {
	t.Helper()
	data := testkit.Must(os.ReadFile(at))(t)
	return string(data)
}

var (
	anyLink    = regexp.MustCompile(`!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\]]*\])`)
	plainText  = regexp.MustCompile("^[A-Za-z`*_\"'(][^<>{}\\[\\]|\\\\]*[.!?:]$")
	underlined = regexp.MustCompile(`^\s*(===|---|~~~)`)
	numbering  = regexp.MustCompile(`^(?:[-*+]|[0-9]+\.) `)
)

// excerpt copies paragraphs and code from below headings that fit, each behind its citation.
func excerpt(text, file string, under *regexp.Regexp) string {
	var b strings.Builder
	heading, at, written, pieces := "", 0, "", 0
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	cite := func(from, to int) string { // with the heading's line, as the heading is copied, too
		if heading == "" {
			return fmt.Sprintf("<!-- cite: %s:%d-%d -->", file, from+1, to)
		}
		return fmt.Sprintf("<!-- cite: %s:%d; %[1]s:%[3]d-%d -->", file, at+1, from+1, to)
	}
	head := func() {
		if title := strings.Trim(anyLink.ReplaceAllString(heading, "$1"), "# :"); title != "" && title != written && regexp.MustCompile(`^[\w ,.'-]+$`).MatchString(title) {
			fmt.Fprintf(&b, "## %s\n\n", title)
			written = title
		}
	}
	for i := 0; i < len(lines) && pieces < 12; {
		line := strings.TrimSpace(lines[i])
		end := i + 1
		switch {
		case strings.HasPrefix(line, "#"):
			heading, at = line, i
		case strings.HasPrefix(line, "```"):
			for end < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[end]), "```") {
				end++
			}
			end = min(end+1, len(lines))
			if under.MatchString(heading) && end-i < 40 && !strings.Contains(strings.Join(lines[i+1:end-1], "\n"), "```") {
				head()
				lang := regexp.MustCompile(`^\w*`).FindString(strings.Trim(line, "`"))
				fmt.Fprintf(&b, "```%s\n%s\n```\n%s\n\n", lang, strings.Join(lines[i+1:end-1], "\n"), cite(i, end))
				pieces++
			}
		case line != "":
			for end < len(lines) && strings.TrimSpace(lines[end]) != "" && !strings.HasPrefix(strings.TrimSpace(lines[end]), "```") {
				end++
			}
			said := strings.Join(strings.Fields(anyLink.ReplaceAllString(strings.Join(lines[i:end], " "), "$1")), " ")
			if under.MatchString(heading) && !numbering.MatchString(said) && plainText.MatchString(said) && len(strings.Fields(said)) > 3 && !strings.HasPrefix(lines[i], "    ") && !underlined.MatchString(lines[min(i+1, len(lines)-1)]) {
				head()
				fmt.Fprintf(&b, "%s %s\n\n", said, cite(i, end))
				pieces++
			}
		}
		i = end
	}
	return b.String()
}

// lies is a model that says what is not so, and writes where it should not.
func (d *planned) lies() *script {
	s := &script{}
	file := d.find("readme.md", "readme.rst", "readme", "package.json", "go.mod")
	done := false
	for _, p := range d.Pages {
		if p.Draft == "" {
			continue
		}
		files := map[string]string{p.Draft: fmt.Sprintf("# %s\n\nQuantum encryption on the moon since version 99.7. <!-- cite: %[2]s:1 -->\n\nRun `make frobnicate-everything` first. <!-- cite: %[2]s:1 -->\n\nIt depends on Sphinx and on a Frobnicator.\n", p.Title, file)}
		if !done {
			files["docs/command-line.md"] = "# Command line\n\nUse --frobnicate.\n"
			files[file] = "nothing is left of it\n"
			done = true
		}
		s.writes(p.Section, files)
	}
	return s
}
