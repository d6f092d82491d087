package docs

import (
	"strings"

	"ramet/internal/base/text"
)

// kind of a block.
type kind int

const (
	prose kind = iota
	heading
	code
)

// block is a statement: a paragraph, an item of a list, a table, a heading or a code block.
type block struct {
	kind  kind
	level int // of a heading
	line  int
	text  string // without citations and marks of lists
	cites []Cite
	lang  string
}

var (
	headingForm = text.Regexp(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	itemForm    = text.Regexp(`^[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+`)
	fenceForm   = text.Regexp("^[ \t]*(```+|~~~+)[ \t]*([^`]*)$")
	ruleForm    = text.Regexp(`^[ \t]*(?:=+|-{2,}|(?:[-*_][ \t]*){3,})[ \t]*$`)
	tableRule   = text.Regexp(`^[ \t]*\|?[ \t:|-]+\|[ \t:|-]*$`)
)

// splitter cuts a draft into blocks.
type splitter struct {
	blocks []block
	open   bool // the last block goes on
	fence  string
	found  []Finding
}

// splitBlocks gives the blocks of a draft, and what could not be read.
func splitBlocks(draft string) ([]block, []Finding) {
	s := &splitter{}
	n := 0
	for line := range strings.Lines(strings.ReplaceAll(draft, "\r\n", "\n")) {
		n++
		s.add(n, strings.TrimRight(line, "\n"))
	}
	return s.blocks, s.found
}

func (s *splitter) say(code string, line int, message string) {
	s.found = append(s.found, Finding{code, line, message})
}

func (s *splitter) add(n int, line string) {
	if s.fence != "" {
		last := &s.blocks[len(s.blocks)-1]
		if bare := strings.TrimSpace(line); strings.HasPrefix(bare, s.fence) && strings.Trim(bare, s.fence[:1]) == "" {
			s.fence, s.open = "", false
			return
		}
		last.text += line + "\n"
		return
	}
	line, cites := s.cites(n, line)
	bare := strings.TrimSpace(line)
	switch m := headingForm().FindStringSubmatch(line); {
	case bare == "":
		if len(cites) > 0 {
			s.attach(n, cites)
		}
		s.open = false
		return
	case m != nil:
		s.open = false
		s.blocks = append(s.blocks, block{kind: heading, level: len(m[1]), line: n, text: m[2], cites: cites})
		return
	}
	if m := fenceForm().FindStringSubmatch(line); m != nil {
		s.fence = m[1]
		s.blocks = append(s.blocks, block{kind: code, line: n, lang: strings.TrimSpace(m[2]), cites: cites})
		s.open = false
		return
	}
	if ruleForm().MatchString(line) || tableRule().MatchString(line) {
		if s.open && !strings.Contains(line, "|") {
			s.say(HiddenText, n, "a line below a text makes a heading of it: write headings with #")
		}
		return
	}
	if m := itemForm().FindString(line); m != "" {
		s.open = false
		line = line[len(m):]
	}
	if !s.open {
		s.blocks = append(s.blocks, block{line: n})
		s.open = true
	}
	last := &s.blocks[len(s.blocks)-1]
	last.text += line + "\n"
	last.cites = append(last.cites, cites...)
}

// cites takes the citations out of a line.
func (s *splitter) cites(n int, line string) (string, []Cite) {
	var out []Cite
	rest := evidenceComment().ReplaceAllStringFunc(line, func(whole string) string {
		got, err := readCites(evidenceComment().FindStringSubmatch(whole)[1])
		if err != nil {
			s.say(CiteForm, n, err.Error())
		}
		out = append(out, got...)
		return ""
	})
	if strings.Contains(rest, "<!--") || strings.Contains(rest, "-->") {
		s.say(HiddenText, n, "a comment is not closed on its line: take it out")
	}
	return rest, out
}

// attach gives citations on lines of their own to the block above them.
func (s *splitter) attach(n int, cites []Cite) {
	if len(s.blocks) == 0 || s.blocks[len(s.blocks)-1].kind == heading {
		s.say(CiteForm, n, "a citation follows nothing: put it after its statement")
		return
	}
	last := &s.blocks[len(s.blocks)-1]
	last.cites = append(last.cites, cites...)
}
