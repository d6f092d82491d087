package prose

import (
	"strings"
)

// docstring reads a docstring of Python: reStructuredText as people write it, with the
// lists of Google, NumPy and Sphinx.
func docstring(text string) []Block {
	d := &docs{lines: strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")}
	for d.at < len(d.lines) {
		d.next()
	}
	d.fields()
	return d.out
}

type docs struct {
	lines []string
	at    int
	out   []Block
	field []string // items of a field list, :param x: …
}

func (d *docs) line() string { return d.lines[d.at] }

func indentOf(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// next reads one block.
func (d *docs) next() {
	line := d.line()
	bare := strings.TrimSpace(line)
	if bare == "" {
		d.at++
		return
	}
	if m := fieldLine().FindStringSubmatch(bare); m != nil {
		d.at++
		body := m[2]
		for d.at < len(d.lines) && strings.TrimSpace(d.line()) != "" && indentOf(d.line()) > indentOf(line) {
			body += " " + strings.TrimSpace(d.line())
			d.at++
		}
		d.addField(m[1], strings.TrimSpace(body))
		return
	}
	d.fields()
	switch {
	case strings.HasPrefix(bare, "```"):
		d.at++
		var code []string
		for ; d.at < len(d.lines) && strings.TrimSpace(d.line()) != "```"; d.at++ {
			code = append(code, strings.TrimPrefix(d.line(), line[:indentOf(line)]))
		}
		d.at++
		lang := strings.TrimPrefix(bare, "```")
		if lang == "" {
			lang = "python"
		}
		d.out = append(d.out, Block{Kind: Code, Text: strings.Join(code, "\n"), Language: lang})
	case strings.HasPrefix(bare, ">>>"):
		var code []string
		for ; d.at < len(d.lines) && strings.TrimSpace(d.line()) != ""; d.at++ {
			code = append(code, strings.TrimPrefix(d.line(), line[:indentOf(line)]))
		}
		d.out = append(d.out, Block{Kind: Code, Text: strings.Join(code, "\n"), Language: "pycon"})
	case strings.HasPrefix(bare, ".. "):
		d.directive(bare, indentOf(line))
	case googleHead().MatchString(bare) && d.indentedAfter(indentOf(line)):
		d.at++
		d.section(strings.TrimSuffix(bare, ":"), d.body(indentOf(line)))
	case d.underlined():
		d.at += 2
		if name := strings.ToLower(bare); numpy[name] {
			d.section(bare, d.sectionBody())
		} else {
			d.out = append(d.out, Block{Kind: Heading, Text: Escape(bare), Level: 3})
		}
	case item().MatchString(line):
		d.list(indentOf(line))
	case indentOf(line) >= 4:
		d.code(indentOf(line), "")
	default:
		d.paragraph(indentOf(line))
	}
}

var (
	fieldLine  = lazily(`^:([a-z]+(?: [^:]+)?):(?:\s+(.*))?$`)
	googleHead = lazily(`^(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Returns?|Yields?|Raises|Throws|Examples?|Attributes|Notes?|Warnings?|See Also|References|Usage|Methods|Todo):$`)
	under      = lazily(`^\s*(?:-{3,}|={3,}|~{3,}|\^{3,})\s*$`)
	numpy      = map[string]bool{"parameters": true, "returns": true, "yields": true, "raises": true, "attributes": true, "examples": true, "notes": true, "see also": true, "other parameters": true, "warns": true, "references": true, "warnings": true, "methods": true}
)

func (d *docs) indentedAfter(n int) bool {
	for i := d.at + 1; i < len(d.lines); i++ {
		if strings.TrimSpace(d.lines[i]) != "" {
			return indentOf(d.lines[i]) > n
		}
	}
	return false
}

func (d *docs) underlined() bool {
	return d.at+1 < len(d.lines) && under().MatchString(d.lines[d.at+1]) && indentOf(d.line()) == indentOf(d.lines[d.at+1])
}

// body takes the lines that are further in than n, without that margin.
func (d *docs) body(n int) []string {
	var out []string
	for ; d.at < len(d.lines) && (strings.TrimSpace(d.line()) == "" || indentOf(d.line()) > n); d.at++ {
		out = append(out, d.line())
	}
	return dedent(out)
}

// sectionBody takes the lines up to the next heading with a line under it.
func (d *docs) sectionBody() []string {
	var out []string
	for ; d.at < len(d.lines) && !(strings.TrimSpace(d.line()) != "" && d.underlined()); d.at++ {
		out = append(out, d.line())
	}
	return dedent(out)
}

func dedent(lines []string) []string {
	margin := -1
	for _, l := range lines {
		if n := indentOf(l); strings.TrimSpace(l) != "" && (margin < 0 || n < margin) {
			margin = n
		}
	}
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, l[min(max(margin, 0), len(l)):])
	}
	for len(out) > 0 && strings.TrimSpace(out[len(out)-1]) == "" {
		out = out[:len(out)-1]
	}
	return out
}

// section is a list with a name: what it takes, what it gives.
func (d *docs) section(name string, body []string) {
	if strings.EqualFold(name, "todo") || len(body) == 0 {
		return
	}
	switch strings.ToLower(name) {
	case "args", "arguments", "params":
		name = "Parameters"
	case "keyword args":
		name = "Keyword arguments"
	case "return":
		name = "Returns"
	}
	switch lower := strings.ToLower(name); lower {
	case "parameters", "keyword arguments", "raises", "throws", "attributes", "other parameters", "methods", "warns":
		d.out = append(d.out, Block{Text: "**" + name + ":**"}, Block{Kind: List, Text: entries(body)})
	case "example", "examples", "usage":
		d.out = append(d.out, Block{Text: "**" + name + ":**"})
		inner := docstring(strings.Join(body, "\n"))
		if len(inner) == 1 && inner[0].Kind == Paragraph && strings.ContainsAny(inner[0].Text, "=(") {
			inner = []Block{{Kind: Code, Text: strings.Join(body, "\n"), Language: "python"}}
		}
		d.out = append(d.out, inner...)
	default:
		inner := docstring(strings.Join(body, "\n"))
		if len(inner) > 0 && inner[0].Kind == Paragraph {
			inner[0].Text = "**" + name + ":** " + inner[0].Text
		} else {
			d.out = append(d.out, Block{Text: "**" + name + ":**"})
		}
		d.out = append(d.out, inner...)
	}
}

var (
	googleItem = lazily(`^(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*)\s*(?:\(([^)]*)\))?\s*:(?:\s+(.*))?$`)
	numpyItem  = lazily(`^(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*)\s+:\s*(.+)$`)
)

// entries reads the items of such a list.
func entries(body []string) string {
	var out []string
	name, typ, desc := "", "", ""
	flush := func() {
		if s := entry(name, typ, RST(desc)); s != "" {
			out = append(out, "- "+Wrap(s, "  "))
		}
		name, typ, desc = "", "", ""
	}
	for _, line := range body {
		bare := strings.TrimSpace(line)
		switch {
		case bare == "":
		case indentOf(line) > 0:
			desc += " " + bare
		default:
			flush()
			if m := numpyItem().FindStringSubmatch(bare); m != nil {
				name, typ = m[1], m[2]
			} else if m := googleItem().FindStringSubmatch(bare); m != nil {
				name, typ, desc = m[1], m[2], m[3]
			} else if identifier().MatchString(bare) {
				name = bare
			} else {
				desc = strings.TrimPrefix(strings.TrimPrefix(bare, "- "), "* ")
			}
		}
	}
	flush()
	return strings.Join(out, "\n")
}

var identifier = lazily(`^\*{0,2}[A-Za-z_][\w.]*$`)

// addField keeps an item of a field list.
func (d *docs) addField(field, body string) {
	kind, rest, _ := strings.Cut(field, " ")
	words := strings.Fields(rest)
	name, typ := "", ""
	if n := len(words); n > 0 {
		name, typ = words[n-1], strings.Join(words[:n-1], " ")
	}
	switch kind {
	case "param", "parameter", "arg", "argument", "key", "keyword", "ivar", "cvar", "var":
		d.field = append(d.field, entry(name, typ, RST(body)))
	case "return", "returns", "yields", "yield":
		d.field = append(d.field, "**Returns** "+RST(body))
	case "rtype":
		d.field = append(d.field, "**Return type** "+RST(body))
	case "raises", "raise", "except", "exception":
		d.field = append(d.field, "**Raises** "+entry(name, "", RST(body)))
	case "type", "meta":
	default:
		d.field = append(d.field, strings.TrimSpace(Escape(field)+": "+RST(body)))
	}
}

func (d *docs) fields() {
	var out []string
	for _, f := range d.field {
		out = append(out, "- "+Wrap(f, "  "))
	}
	d.field = nil
	if len(out) > 0 {
		d.out = append(d.out, Block{Kind: List, Text: strings.Join(out, "\n")})
	}
}

var directiveLine = lazily(`^\.\. ([a-z-]+)::\s*(.*)$`)

// directive reads ".. name:: argument" with what stands under it.
func (d *docs) directive(bare string, n int) {
	m := directiveLine().FindStringSubmatch(bare)
	d.at++
	body := d.body(n)
	if m == nil {
		return // a comment, or the target of a link
	}
	for len(body) > 0 && (strings.HasPrefix(strings.TrimSpace(body[0]), ":") || strings.TrimSpace(body[0]) == "") {
		body = body[1:]
	}
	arg := strings.TrimSpace(m[2])
	switch m[1] {
	case "code-block", "code", "sourcecode", "doctest", "testcode":
		d.out = append(d.out, Block{Kind: Code, Text: strings.Join(body, "\n"), Language: orElse(arg, "python")})
	case "note", "warning", "tip", "important", "caution", "danger", "attention", "hint", "seealso", "versionadded", "versionchanged", "deprecated":
		label := map[string]string{"seealso": "See also:", "versionadded": "Added in version", "versionchanged": "Changed in version", "deprecated": "Deprecated since"}[m[1]]
		if label == "" {
			label = strings.ToUpper(m[1][:1]) + m[1][1:] + ":"
		}
		inner := docstring(strings.Join(append([]string{arg}, body...), "\n"))
		if len(inner) > 0 && inner[0].Kind == Paragraph {
			inner[0].Text = "**" + label + "** " + inner[0].Text
			d.out = append(d.out, inner...)
		}
	}
}

// list reads items with what belongs to them.
func (d *docs) list(n int) {
	var lines []string
	for ; d.at < len(d.lines); d.at++ {
		line := d.line()
		if strings.TrimSpace(line) == "" {
			if d.at+1 < len(d.lines) && (item().MatchString(d.lines[d.at+1]) && indentOf(d.lines[d.at+1]) >= n || indentOf(d.lines[d.at+1]) > n) {
				continue
			}
			break
		}
		if !item().MatchString(line) && indentOf(line) <= n {
			break
		}
		lines = append(lines, line)
	}
	for i, l := range lines {
		if m := item().FindStringSubmatch(l); m != nil {
			lines[i] = m[1] + m[2] + " " + RST(m[3])
		} else {
			lines[i] = l[:indentOf(l)] + RST(strings.TrimSpace(l))
		}
	}
	d.out = append(d.out, Block{Kind: List, Text: listLines(lines, nil)})
}

// code reads a block that is further in.
func (d *docs) code(n int, language string) {
	body := d.body(n - 1)
	text := strings.Join(body, "\n")
	switch {
	case language != "":
	case strings.HasPrefix(strings.TrimSpace(text), ">>>"):
		language = "pycon"
	case pythonLine().MatchString(text):
		language = "python"
	default:
		language = "text"
	}
	d.out = append(d.out, Block{Kind: Code, Text: text, Language: language})
}

var pythonLine = lazily(`(?m)^\s*(?:import |from \w+ import|def |class |for .*:$|if .*:$|with .*:$|print\()|^\s*\w[\w.]* = |^\s*[\w.]+\(.*\)$`)

// paragraph reads up to an empty line; a double colon at its end announces code.
func (d *docs) paragraph(n int) {
	var lines []string
	for ; d.at < len(d.lines); d.at++ {
		bare := strings.TrimSpace(d.line())
		if bare == "" || len(lines) > 0 && (fieldLine().MatchString(bare) || strings.HasPrefix(bare, ">>>") || item().MatchString(d.line()) && !proseItem().MatchString(bare) || googleHead().MatchString(bare)) {
			break
		}
		lines = append(lines, bare)
	}
	text := strings.Join(lines, " ")
	literal := strings.HasSuffix(text, "::")
	if literal {
		text = strings.TrimSuffix(text, ":")
		if text == ":" || strings.HasSuffix(text, " :") {
			text = strings.TrimSuffix(text, ":")
		}
	}
	if s := strings.TrimSpace(RST(text)); s != "" {
		d.out = append(d.out, Block{Text: s})
	}
	if literal && d.at < len(d.lines) {
		for d.at < len(d.lines) && strings.TrimSpace(d.line()) == "" {
			d.at++
		}
		if d.at < len(d.lines) && indentOf(d.line()) > n {
			d.code(indentOf(d.line()), "")
		}
	}
}

// proseItem is a line that only looks like an item: "- 1 is left" within a sentence.
var proseItem = lazily(`^\d{1,3}[.)] [a-z]`)
