package markdown

import (
	"strings"
	"unicode/utf8"
)

func (m *machine) beginText(body string) {
	if n := len(m.boxes); n > 0 && m.boxes[n-1].fresh && !m.boxes[n-1].quote {
		// A task: the box takes the place of the bullet.
		if len(body) > 3 && body[0] == '[' && strings.IndexByte(" xX", body[1]) >= 0 && body[2] == ']' && body[3] == ' ' {
			m.boxes[n-1].marker = strings.ToLower(body[:3]) + " "
			body = strings.TrimLeft(body[4:], " ")
		}
	}
	m.leaf = leaf{kind: paragraph}
	m.addText(body)
}

func (m *machine) addText(body string) {
	m.leaf.lines = append(m.leaf.lines, body)
	if m.leaf.size += len(body) + 1; m.leaf.size >= longest-2*reach {
		m.closeLeaf()
		m.leaf = leaf{kind: paragraph}
	}
}

func (m *machine) showText(lines []string) {
	if spans := inline(strings.Join(lines, "\n"), "", m.theme); len(spans) > 0 {
		m.show(wrap(spans, m.room()))
	}
}

func (m *machine) heading(level int, title string) {
	if len(m.boxes) == 0 {
		m.blank = m.blank || m.begun
	}
	spans := inline(title, m.theme.Heading, m.theme)
	if m.theme.Heading == "" {
		spans = append([]span{{strings.Repeat("#", level) + " ", m.theme.Heading}}, spans...)
	}
	m.show(wrap(spans, m.room()))
}

func (m *machine) setext(body string) {
	level := 1
	if body[0] == '-' {
		level = 2
	}
	title := strings.Join(m.leaf.lines, " ")
	m.leaf = leaf{}
	m.heading(level, title)
}

func (m *machine) rule() {
	r := row{}
	r.add(strings.Repeat("─", m.room()), m.theme.Rule, m.room())
	m.show([]row{r})
}

// codeHead begins a block of code with its language, so that two that follow each other are two.
// It stands above the code and not beside it: who copies lines copies code.
func (m *machine) codeHead(language string) {
	head := "╶ " + language
	if strings.ContainsFunc(language, func(r rune) bool { return r <= ' ' || r > '~' }) || language == "" || len(language) > m.room()-2 {
		head = "╶"
	}
	r := row{}
	r.add(head, m.theme.Rule, utf8.RuneCountInString(head))
	m.show([]row{r})
}

// fencedLine takes a line behind an open fence.
func (m *machine) fencedLine(rest string) {
	trimmed := strings.TrimRight(strings.TrimLeft(rest, " "), " \t")
	if len(rest)-len(strings.TrimLeft(rest, " ")) < 4 && len(trimmed) >= len(m.leaf.fence) &&
		strings.Trim(trimmed, m.leaf.fence[:1]) == "" {
		m.leaf = leaf{}
		return
	}
	in := min(m.leaf.inset, len(rest)-len(strings.TrimLeft(rest, " ")))
	m.codeLine(rest[in:], false)
}

func (m *machine) indentedLine(code string, depth int) {
	if m.leaf.kind != indented || depth != len(m.boxes) {
		m.closeTo(depth)
		m.space()
		m.leaf = leaf{kind: indented, lex: newLexer("")}
	}
	for ; m.leaf.empty > 0; m.leaf.empty-- {
		m.codeLine("", false)
	}
	m.blank = false
	m.codeLine(code, false)
}

// codeLine shows a line of code, indented by two.
func (m *machine) codeLine(code string, goesOn bool) {
	room, inset := m.room(), "  "
	if room < 12 {
		inset = ""
	}
	spans := m.leaf.lex.line(expandTabs(code), m.theme)
	rows := breakAnywhere(spans, room-len(inset))
	for i := range rows {
		if rows[i].width > 0 {
			rows[i].spans = append([]span{{inset, ""}}, rows[i].spans...)
			rows[i].width += len(inset)
		}
	}
	m.put(rows, goesOn)
}
