package permit

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"ramet/internal/base/text"
)

// maxLine is the longest command line that is taken apart: the parser descends into
// brackets, and a line of a million of them must not exhaust the stack.
const maxLine = 16 << 10

// word is a word of a simple command.
type word struct {
	text   string // without its quotes
	assign bool   // NAME=value in front of the command
	open   bool   // a variable or a file pattern: known only when it runs, and perhaps no word or several

	unknown bool // a part of the text is known only when it runs
}

// takeApart gives the simple commands of a line, in lists, pipes, groups and
// subshells. It knows only what it is sure of: ok is false for everything else, such
// as substitutions, loops, functions, here documents, and files that are written
// or read by the shell.
func takeApart(line string) (commands [][]word, ok bool) {
	// Shells and parsers disagree about these characters.
	odd := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.IsSpace(r) && r > 0x7f
	}
	if len(line) > maxLine || !utf8.ValidString(line) || strings.ContainsFunc(line, odd) {
		return nil, false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
	if err != nil || strings.Contains(line, "\\\n") && hasComment(file) {
		return nil, false
	}
	t := taker{ok: true}
	t.statements(file.Stmts...)
	return t.commands, t.ok && len(t.commands) > 0
}

// hasComment reports whether there is a comment. The parser joins it with the next line
// after a backslash, and shells do not.
func hasComment(file *syntax.File) (found bool) {
	syntax.Walk(file, func(n syntax.Node) bool {
		_, comment := n.(*syntax.Comment)
		found = found || comment
		return !found
	})
	return found
}

type taker struct {
	commands [][]word
	ok       bool
}

func (t *taker) statements(list ...*syntax.Stmt) {
	for _, s := range list {
		if s.Coprocess || s.Disown {
			t.ok = false
		}
		for _, r := range s.Redirs {
			t.ok = t.ok && isHarmless(r)
		}
		switch c := s.Cmd.(type) {
		case *syntax.CallExpr:
			t.call(c)
		case *syntax.BinaryCmd:
			t.statements(c.X, c.Y)
		case *syntax.Subshell:
			t.statements(c.Stmts...)
		case *syntax.Block:
			t.statements(c.Stmts...)
		default:
			t.ok = false
		}
	}
}

func (t *taker) call(c *syntax.CallExpr) {
	var words []word
	for _, a := range c.Assigns {
		if a.Append || a.Naked || a.Name == nil || a.Index != nil || a.Array != nil {
			t.ok = false
			return
		}
		value, ok := word{}, true
		if a.Value != nil {
			value, ok = readWord(a.Value)
		}
		t.ok = t.ok && ok && !value.open
		words = append(words, word{text: a.Name.Value + "=" + value.text, assign: true})
	}
	for _, w := range c.Args {
		value, ok := readWord(w)
		t.ok = t.ok && ok
		words = append(words, value)
	}
	t.commands = append(t.commands, words)
}

// isHarmless reports whether a redirection is to or from nothing, or from one descriptor to another.
func isHarmless(r *syntax.Redirect) bool {
	if r.N != nil && !isDigits(r.N.Value) || r.Word == nil || r.Hdoc != nil {
		return false
	}
	to, ok := readWord(r.Word)
	if !ok || to.open {
		return false
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrIn, syntax.RdrAll, syntax.AppAll:
		return to.text == "/dev/null"
	case syntax.DplOut, syntax.DplIn:
		return isDigits(to.text) || to.text == "-"
	}
	return false
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// readWord takes the quotes off a word. sure is false where something in it would run, or cannot be read; that is left
// out of the text.
func readWord(w *syntax.Word) (out word, sure bool) {
	var b strings.Builder
	sure = true
	var read func(list []syntax.WordPart, special string)
	read = func(list []syntax.WordPart, special string) {
		for i, part := range list {
			switch p := part.(type) {
			case *syntax.Lit:
				text, ok := removeBackslashes(p.Value, special)
				sure = sure && ok
				b.WriteString(text)
				if special == "" {
					out.open = out.open || i == 0 && strings.HasPrefix(p.Value, "~") || isExpanded(p.Value)
					out.unknown = out.unknown || strings.Contains(p.Value, "{")
				}
			case *syntax.SglQuoted:
				sure, out.unknown = sure && !p.Dollar, out.unknown || p.Dollar
				b.WriteString(p.Value)
			case *syntax.DblQuoted:
				sure = sure && !p.Dollar
				read(p.Parts, "$`\"\\\n")
			case *syntax.ParamExp:
				sure = sure && isPlainExpansion(p)
				out.open, out.unknown = true, true
			default:
				sure, out.unknown = false, true
			}
		}
	}
	read(w.Parts, "")
	out.text = b.String()
	return out, sure
}

// isPlainExpansion reports whether an expansion is $NAME or ${NAME}, whose value is only put in.
// Everything longer can assign, or evaluate the value of a variable.
func isPlainExpansion(p *syntax.ParamExp) bool {
	return p.Param != nil && syntax.ValidName(p.Param.Value) && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet &&
		p.Split == syntax.OptUnset && p.GlobSubst == syntax.OptUnset && p.RcExpand == syntax.OptUnset &&
		p.NestedParam == nil && p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// removeBackslashes takes backslashes away: all, or those before one of some characters.
func removeBackslashes(s, special string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch {
		case i == len(s):
			return "", false
		case s[i] == '\n': // the line continues
		case special != "" && strings.IndexByte(special, s[i]) < 0:
			b.WriteString(s[i-1 : i+1])
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), true
}

// isExpanded reports whether unquoted text stands for file names or several words.
func isExpanded(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*', '?', '[', '{':
			return true
		case '~':
			if i > 0 && (s[i-1] == ':' || s[i-1] == '=') {
				return true
			}
		}
	}
	return false
}

// A command pattern is words. Each is matched against one word of a simple command,
// and * in it stands for any characters of that word; a last word that is only * stands
// for any further arguments, or none.
type command struct {
	words []glob
	more  bool // the last word was *
}

// glob is a word of a pattern, cut at its stars.
type glob struct {
	pieces []string
	assign bool // NAME=… in front of the command
}

var assignment = text.Regexp(`^[A-Za-z_][A-Za-z0-9_]*=`)

// parseCommand reads a pattern that checkCommand has nothing against.
func parseCommand(pattern string) command {
	var c command
	var word *glob
	piece := func(s string) { word.pieces[len(word.pieces)-1] += s }
	escaped := false
	for _, r := range pattern {
		if !escaped && r == ' ' {
			word = nil
			continue
		}
		if word == nil {
			c.words = append(c.words, glob{pieces: []string{""}})
			word = &c.words[len(c.words)-1]
		}
		switch {
		case escaped:
			escaped = false
			piece(string(r))
		case r == '\\':
			escaped = true
		case r == '*':
			word.pieces = append(word.pieces, "")
		default:
			piece(string(r))
		}
	}
	for i := range c.words {
		// Only a name that is written out is one: the first piece holds it all.
		if !assignment().MatchString(c.words[i].pieces[0]) {
			break
		}
		c.words[i].assign = true
	}
	if last := len(c.words) - 1; last >= 0 && slices.Equal(c.words[last].pieces, []string{"", ""}) {
		c.words, c.more = c.words[:last], true
	}
	return c
}

// checkCommand describes what is wrong with a pattern, and where.
func checkCommand(pattern string) (at int, why string) {
	if trailing := len(pattern) - len(strings.TrimRight(pattern, `\`)); trailing%2 == 1 {
		return len(pattern) - 1, "a backslash before nothing"
	}
	for i, r := range pattern {
		if unicode.IsSpace(r) && r != ' ' {
			return i, "white space other than a blank"
		}
	}
	c := parseCommand(pattern)
	for _, w := range c.words {
		if !w.assign {
			return 0, ""
		}
	}
	return 0, "a pattern that names no command (bash without a pattern permits all)"
}

// fits reports whether the pattern permits a simple command.
func (c command) fits(words []word) bool {
	if len(words) < len(c.words) || len(words) > len(c.words) && !c.more {
		return false
	}
	for i, w := range words {
		if i >= len(c.words) {
			return true // arguments: parse lets no assignment stand there
		}
		if w.assign != c.words[i].assign || w.open || !c.words[i].fits(w.text) {
			return false
		}
	}
	return true
}

// fits matches one word. A star never stands for a way up, so that scripts/* does
// not fit scripts/../../bin/rm.
func (g glob) fits(s string) bool {
	first, rest := g.pieces[0], g.pieces[1:]
	if len(rest) == 0 {
		return s == first
	}
	if !strings.HasPrefix(s, first) || slices.Contains(strings.Split(s, "/"), "..") {
		return false
	}
	s = s[len(first):]
	for _, p := range rest[:len(rest)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, rest[len(rest)-1])
}
