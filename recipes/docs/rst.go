package docs

import (
	"path"
	"strings"

	"ramet/internal/base/text"
)

var (
	mdHeading = text.Regexp(`^(#{1,6}) +(.*)$`)
	mdFence   = text.Regexp("^([ \t]*)(```+|~~~+)[ \t]*([^ \t`]*).*$")
	mdLink    = text.Regexp(`\[([^\[\]]*)\]\(([^\s()]+)\)`)
	mdRow     = text.Regexp(`^\|(.*)\|$`)
	mdRule    = text.Regexp(`^\|[ :|-]+\|$`)
	looseEnd  = text.Regexp(`([A-Za-z0-9])_(\W|$)`)
)

// underlines are those of headings by level.
const underlines = `==-~^"'`

// toRST returns a page of ours as reStructuredText: headings, paragraphs, lists, code, tables
// and links, which is all that pages have.
func toRST(text string) string {
	var out []string
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if m := mdFence().FindStringSubmatch(line); m != nil {
			lang := m[3]
			if lang == "" {
				lang = "text"
			}
			out = append(out, "", m[1]+".. code-block:: "+lang, "")
			for i++; i < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[i]), m[2]); i++ {
				out = append(out, strings.TrimRight(m[1]+"   "+lines[i], " "))
			}
			out = append(out, "")
			continue
		}
		if m := mdHeading().FindStringSubmatch(line); m != nil {
			head := inlineRST(m[2])
			out = append(out, head, strings.Repeat(underlines[len(m[1]):len(m[1])+1], len([]rune(head))))
			continue
		}
		if mdRow().MatchString(line) {
			var rows []string
			for ; i < len(lines) && mdRow().MatchString(lines[i]); i++ {
				rows = append(rows, lines[i])
			}
			i--
			out = append(out, tableRST(rows)...)
			continue
		}
		out = append(out, inlineRST(line))
	}
	var flat []string
	for _, line := range out {
		if line == "" && (len(flat) == 0 || flat[len(flat)-1] == "") {
			continue
		}
		flat = append(flat, line)
	}
	return strings.Join(flat, "\n")
}

// tableRST returns a table as a list.
func tableRST(rows []string) []string {
	out := []string{"", ".. list-table::", "   :header-rows: 1", ""}
	for _, row := range rows {
		if mdRule().MatchString(row) {
			continue
		}
		for i, cell := range strings.Split(strings.ReplaceAll(mdRow().FindStringSubmatch(row)[1], `\|`, "\x00"), "|") {
			mark := "     - "
			if i == 0 {
				mark = "   * - "
			}
			out = append(out, strings.TrimRight(mark+inlineRST(strings.TrimSpace(strings.ReplaceAll(cell, "\x00", "|"))), " "))
		}
	}
	return append(out, "")
}

// inlineRST is a line of prose: code, links, and what would mean something else.
func inlineRST(line string) string {
	parts := strings.Split(line, "`")
	if len(parts)%2 == 0 {
		return strings.ReplaceAll(line, "`", "\\`")
	}
	var b strings.Builder
	for i, part := range parts {
		if i%2 == 1 {
			b.WriteString("``" + part + "``")
			continue
		}
		part = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&").Replace(part)
		part = looseEnd().ReplaceAllString(part, `$1\_$2`)
		b.WriteString(mdLink().ReplaceAllStringFunc(part, func(whole string) string {
			m := mdLink().FindStringSubmatch(whole)
			if path.Ext(m[2]) == ".rst" && !strings.Contains(m[2], ":") {
				return ":doc:`" + m[1] + " <" + strings.TrimSuffix(m[2], ".rst") + ">`"
			}
			return "`" + m[1] + " <" + m[2] + ">`__"
		}))
	}
	return b.String()
}
