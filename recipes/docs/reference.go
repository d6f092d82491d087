package docs

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
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

//go:embed python.py
var pythonScript string

// pythonModule holds the script's output on a module.
type pythonModule struct {
	Module, File, Doc, Error string
	From, End                int
	Names                    []struct {
		Name, Kind, Doc string
		From, To, End   int
	}
}

// PythonReference asks python3, isolated from the user's modules, for the names of the modules below dir.
func PythonReference(ctx context.Context, r *Repository, dir string) (pages []ReferencePage, note string) {
	modules := pythonModules(r)
	if len(modules) == 0 {
		return nil, ""
	}
	list, err := json.Marshal(modules)
	if err != nil {
		return nil, err.Error()
	}
	cmd, err := launch.Command(ctx, launch.Program{Purpose: launch.Reader, Command: sandbox.Command{Args: []string{"python3", "-I", "-c", pythonScript}, Dir: dir}})
	const failed = "no reference of the Python modules: python3, which reads them, is not there or failed: "
	if err != nil {
		return nil, failed + err.Error()
	}
	cmd.Stdin = bytes.NewReader(list)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, failed + lastLine(said.String(), err)
	}
	var found []pythonModule
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, "no reference of the Python modules: python3 gave no answer: " + err.Error()
	}
	unread := 0
	for _, m := range found {
		if m.Error != "" {
			unread++
		}
		if p, ok := pythonPage(r, m); ok {
			pages = append(pages, p)
		}
	}
	if unread > 0 {
		note = fmt.Sprintf("%d Python modules could not be read by python3 and have no reference", unread)
	}
	return pages, note
}

func lastLine(said string, err error) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return err.Error()
}

// pythonModules returns the public modules of packages at the root or below src, by name.
func pythonModules(r *Repository) [][2]string {
	var out [][2]string
	for _, f := range r.Files {
		name, ok := strings.CutSuffix(strings.TrimPrefix(f, "src/"), ".py")
		if !ok {
			continue
		}
		parts := strings.Split(name, "/")
		root := strings.TrimSuffix(f, strings.Join(parts, "/")+".py")
		if len(parts) < 2 || !r.Has(root+parts[0]+"/__init__.py") || slices.ContainsFunc(parts, isPrivatePart) {
			continue
		}
		if parts[len(parts)-1] == "__init__" {
			parts = parts[:len(parts)-1]
		}
		out = append(out, [2]string{strings.Join(parts, "."), f})
	}
	return out
}

// isPrivatePart reports whether a part of a module's path is no business of users.
func isPrivatePart(part string) bool {
	switch part {
	case "tests", "test", "testing", "docs", "doc", "examples", "setup", "conftest", "vendored", "__main__":
		return true
	}
	return strings.HasPrefix(part, "_") && part != "__init__" || strings.HasPrefix(part, "test_") || strings.HasSuffix(part, "_test")
}

func pythonPage(r *Repository, m pythonModule) (ReferencePage, bool) {
	var b strings.Builder
	lines := strings.Split(r.Text(m.File), "\n")
	if m.Doc != "" {
		entry{at: []Cite{clipCite(m.File, m.From, m.End)}, doc: []string{escapeMarkdown(m.Doc)}}.write(&b, r)
	}
	p := ReferencePage{Name: m.Module, Short: strings.ReplaceAll(m.Module, ".", "-")}
	class := false // that was written
	for _, n := range m.Names {
		method := strings.Contains(n.Name, ".")
		if n.From < 1 || n.To > len(lines) || method && !class {
			continue
		}
		e := entry{heading: path.Ext("." + n.Name)[1:], level: 2, lang: "python", code: dedentLines(lines[n.From-1 : n.To]), at: []Cite{clipCite(m.File, n.From, max(n.To, n.End))}}
		if method {
			e.level = 3
		}
		if n.Doc != "" {
			e.doc = []string{escapeMarkdown(n.Doc)}
		}
		ok := e.write(&b, r)
		if !method {
			class = ok && n.Kind == "class"
		}
		if ok {
			p.Names++
		}
	}
	p.Draft = b.String()
	return p, p.Names > 0
}

func clipCite(file string, from, to int) Cite {
	return Cite{File: file, From: from, To: min(to, from+maxLines-1)}
}

// dedentLines takes the indentation of the first line off all, and the colon off the last.
func dedentLines(lines []string) string {
	indent := lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], " \t"))]
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimRight(strings.TrimPrefix(l, indent), " \t\r"))
	}
	return strings.TrimSuffix(strings.Join(out, "\n"), ":")
}
