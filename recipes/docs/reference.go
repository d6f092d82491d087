package docs

import (
	"fmt"
	"slices"
	"strings"
)

// ReferencePage is the reference of one package or module.
type ReferencePage struct {
	Name  string // as it is imported
	Short string // for the name of its file
	Draft string // below the title: Markdown with citations
	Names int    // how many there are in it
}

// entry is one declaration.
type entry struct {
	heading string
	level   int
	code    string // as the source has it
	line    Cite   // where the name stands: shown if the rest cannot be; zero: none
	lang    string
	at      []Cite
	doc     []string // blocks of Markdown without citations
}

// write appends an entry to a draft, as far as it can be proved.
func (e entry) write(b *strings.Builder, r *Repository) bool {
	mark := MarkStatements(e.at...)
	code := ""
	for _, try := range []string{e.code, firstLine(e.code)} {
		if piece := fmt.Sprintf("```%s\n%s\n```\n%s\n\n", e.lang, try, mark); try != "" && passesCheck(piece, r) {
			code = piece
			break
		}
	}
	if e.code != "" && code == "" && e.line.From > 0 {
		mark = MarkStatements(append(slices.Clone(e.at), e.line)...)
		piece := fmt.Sprintf("```%s\n%s\n```\n%s\n\n", e.lang, strings.TrimSpace(r.Line(e.line)), mark)
		if passesCheck(piece, r) {
			code = piece
		}
	}
	if e.code != "" && code == "" {
		return false
	}
	if e.heading != "" {
		head := fmt.Sprintf("%s %s\n\n", strings.Repeat("#", e.level), escapeMarkdown(e.heading))
		if !passesCheck(head+code, r) {
			return false
		}
		b.WriteString(head)
	}
	b.WriteString(code)
	for _, text := range e.doc {
		piece := citeBlock(text, mark)
		if !passesCheck(piece, r) {
			piece = citeBlock(strings.ReplaceAll(text, "`", "\\`"), mark)
		}
		if passesCheck(piece, r) {
			b.WriteString(piece)
		}
	}
	return true
}

func firstLine(code string) string {
	line, _, _ := strings.Cut(code, "\n")
	return line
}

// citeBlock puts a citation after a block of text, or below one of code.
func citeBlock(text, mark string) string {
	if strings.HasPrefix(text, "```") {
		return text + "\n" + mark + "\n\n"
	}
	return text + " " + mark + "\n\n"
}

// passesCheck reports whether a piece of a page would pass.
func passesCheck(piece string, r *Repository) bool {
	none := func(string) (string, bool) { return "", false }
	return len(CheckEvidence("# x\n\n"+piece, "x", r, none)) == 0
}

var special = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "#", `\#`, "|", `\|`, "~", `\~`)

// escapeMarkdown makes Markdown of a plain text. Backticks stay: they mean the same nearly everywhere.
func escapeMarkdown(text string) string {
	parts := strings.Split(strings.Join(strings.Fields(text), " "), "`")
	for i := range parts {
		if i%2 == 0 || len(parts)%2 == 0 {
			parts[i] = special.Replace(parts[i])
		}
	}
	out := strings.Join(parts, "`")
	if len(parts)%2 == 0 {
		out = strings.Join(parts, "\\`")
	}
	// What begins like an item of a list is none.
	if strings.HasPrefix(out, "- ") || strings.HasPrefix(out, "+ ") {
		out = `\` + out
	}
	return out
}
