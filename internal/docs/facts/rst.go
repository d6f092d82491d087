package facts

import (
	"regexp"
	"strings"
	"sync"
)

var rstPatterns = sync.OnceValue(func() (p struct{ literal, link, role, ref, subst *regexp.Regexp }) {
	p.literal = regexp.MustCompile("``([^`\n]+)``")
	p.link = regexp.MustCompile("`([^`<>]+?)\\s*<([^<>`\\s]+)>`__?")
	p.role = regexp.MustCompile(":[A-Za-z][A-Za-z:+-]*:`~?\\.?([^`<>\n]+?)(?:\\s*<[^<>`\n]*>)?`")
	p.ref = regexp.MustCompile("`([^`\n]+)`_{1,2}")
	p.subst = regexp.MustCompile(`\|[A-Za-z][^|\n]*\|_{0,2}`)
	return p
})

// rstInline turns the inline marks of reStructuredText into those of Markdown.
func rstInline(s string) string {
	if !strings.ContainsAny(s, "`|") {
		return s
	}
	p := rstPatterns()
	s = p.literal.ReplaceAllString(s, "\x00$1\x00")
	s = p.role.ReplaceAllString(s, "\x00$1\x00")
	s = p.link.ReplaceAllStringFunc(s, func(m string) string {
		part := p.link.FindStringSubmatch(m)
		if absolute(part[2]) {
			return "[" + oneLine(part[1], 300) + "](" + part[2] + ")"
		}
		return part[1]
	})
	s = p.ref.ReplaceAllString(s, "$1")
	s = p.subst.ReplaceAllString(s, "")
	return strings.ReplaceAll(s, "\x00", "`")
}

// rstMarkdown turns the body of a section into Markdown.
func rstMarkdown(lines []string) string {
	var out []string
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t")
		bare := strings.TrimLeft(line, " \t")
		indent := len(line) - len(bare)
		block := func() []string { // the indented lines that follow
			start := i + 1
			for i+1 < len(lines) && (strings.TrimSpace(lines[i+1]) == "" || indentOf(lines[i+1]) > indent) {
				i++
			}
			return lines[start : i+1]
		}
		switch {
		case i+1 < len(lines) && bare != "" && indent == 0 && adorned(strings.TrimRight(lines[i+1], " ")) && !adorned(bare) && len(strings.TrimSpace(lines[i+1])) >= len([]rune(bare)):
			if i++; len(out) > 0 { // a title at the top is the name again
				out = append(out, "**"+rstInline(bare)+"**", "")
			}
		case strings.HasPrefix(bare, ":copyright:"), strings.HasPrefix(bare, ":license:"), strings.HasPrefix(bare, ":author:"):
			block()
		case strings.HasPrefix(bare, ".. "):
			name, argument, directive := strings.Cut(bare[3:], "::")
			name = strings.TrimSpace(name)
			body := block()
			switch {
			case !directive:
			case name == "code-block" || name == "code" || name == "sourcecode" || name == "highlight":
				out = append(out, fenced(strings.TrimSpace(argument), body)...)
			case name == "note" || name == "warning" || name == "tip" || name == "important":
				out = append(out, "", strings.TrimSpace(rstInline(argument)+" "+rstInline(oneLine(strings.Join(body, " "), textLimit))), "")
			}
		case strings.HasSuffix(bare, "::"):
			lead := strings.TrimSuffix(bare, "::")
			if lead != "" {
				out = append(out, rstInline(strings.TrimRight(lead, " ")+":"))
			}
			out = append(out, fenced("", block())...)
		case strings.HasPrefix(bare, ">>> "):
			out = append(out, "\t"+bare)
			for i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != "" {
				i++
				out = append(out, "\t"+strings.TrimSpace(lines[i]))
			}
		default:
			out = append(out, rstInline(line))
		}
	}
	return patterns().blank.ReplaceAllString(strings.TrimSpace(strings.Join(out, "\n")), "\n\n")
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// fenced makes a code block of indented lines; options of the directive are left out.
func fenced(language string, body []string) []string {
	margin := -1
	for _, l := range body {
		if strings.TrimSpace(l) != "" && (margin < 0 || indentOf(l) < margin) {
			margin = indentOf(l)
		}
	}
	var code []string
	for _, l := range body {
		l = strings.TrimRight(l[min(max(margin, 0), len(l)):], " \t")
		if len(code) == 0 && (l == "" || strings.HasPrefix(l, ":")) {
			continue
		}
		code = append(code, l)
	}
	for len(code) > 0 && code[len(code)-1] == "" {
		code = code[:len(code)-1]
	}
	if len(code) == 0 {
		return nil
	}
	return append(append([]string{"", "```" + language}, code...), "```", "")
}

// fields of docstrings: Sphinx's, and the headings of the styles of Google and NumPy.
var (
	sphinxField = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^:(param|parameter|arg|type|rtype|returns?|raises?|yields?|ivar|vartype|keyword)\b\s*([^:]*):\s*(.*)$`)
	})
	docHeads = map[string]string{
		"args": "Arguments", "arguments": "Arguments", "parameters": "Parameters", "params": "Parameters", "returns": "Returns", "return": "Returns",
		"raises": "Raises", "yields": "Yields", "attributes": "Attributes", "keyword args": "Arguments", "other parameters": "Parameters",
	}
)

// pyDocText makes Markdown of a docstring.
func pyDocText(doc string) string {
	lines := strings.Split(doc, "\n")
	var out []string
	inHead, headIndent := false, 0
	itemIndent := -1
	for i := 0; i < len(lines); i++ {
		bare := strings.TrimSpace(lines[i])
		if m := sphinxField().FindStringSubmatch(bare); m != nil {
			if m[1] == "type" || m[1] == "rtype" || m[1] == "vartype" {
				continue
			}
			for i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != "" && indentOf(lines[i+1]) > indentOf(lines[i]) && !strings.HasPrefix(strings.TrimSpace(lines[i+1]), ":") {
				i++
				m[3] += " " + strings.TrimSpace(lines[i])
			}
			name := strings.TrimSpace(m[2][strings.LastIndexByte(m[2], ' ')+1:])
			if len(out) > 0 && !strings.HasPrefix(out[len(out)-1], "- ") && out[len(out)-1] != "" {
				out = append(out, "")
			}
			switch {
			case strings.HasPrefix(m[1], "return"), strings.HasPrefix(m[1], "yield"):
				out = append(out, "- "+strings.ToUpper(m[1][:1])+m[1][1:]+": "+m[3])
			case strings.HasPrefix(m[1], "raise"):
				out = append(out, "- Raises ``"+name+"``: "+m[3])
			default:
				out = append(out, "- ``"+name+"``: "+m[3])
			}
			continue
		}
		underlined := i+1 < len(lines) && strings.Trim(lines[i+1], "- ") == "" && len(strings.TrimSpace(lines[i+1])) > 2
		if head := docHeads[strings.ToLower(strings.TrimSuffix(bare, ":"))]; head != "" && (strings.HasSuffix(bare, ":") || underlined) {
			out = append(out, "", head+":", "")
			inHead, headIndent, itemIndent = true, indentOf(lines[i]), -1
			if underlined {
				i++
				headIndent--
			}
			continue
		}
		if inHead && bare != "" {
			indent := indentOf(lines[i])
			switch {
			case indent <= headIndent:
				inHead = false
				out = append(out, "")
			case itemIndent < 0 || indent <= itemIndent:
				itemIndent = indent
				out = append(out, "- "+bare)
				continue
			default:
				out = append(out, "  "+bare)
				continue
			}
		}
		out = append(out, lines[i])
	}
	return rstMarkdown(out)
}
