package markdown

import (
	"path"
	"strings"
)

// Code colours code line by line, as in a block, for who draws the lines himself.
type Code struct{ lexer lexer }

// Span is a piece of a line in one style.
type Span struct {
	Text  string
	Style Style
}

// CodeOf is for the code in a file, by its name; nil: its language is not known.
func CodeOf(file string) *Code {
	name := path.Base(file)
	if ext := path.Ext(name); ext != "" {
		name = strings.TrimPrefix(ext, ".")
	}
	if languageOf(name) == nil {
		return nil
	}
	return &Code{newLexer(name)}
}

// Line colours the next line.
func (c *Code) Line(s string, theme Theme) []Span {
	var out []Span
	for _, one := range c.lexer.line(s, theme) {
		out = append(out, Span{one.text, one.style})
	}
	return out
}

// Again begins anew: what comes does not follow what came.
func (c *Code) Again() { c.lexer = lexer{lang: c.lexer.lang} }
