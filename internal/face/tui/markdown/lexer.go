package markdown

import (
	"path"
	"strings"
	"sync"
)

// Code colors code line by line: words, strings, comments and numbers. Its state is what a line leaves open, a comment
// or a string.
type Code struct {
	lang  *language // nil: plain
	until string    // what ends the thing that is open
	open  token
	raw   bool // in which a backslash means nothing
	hunk  hunk // of a diff
}

// Span is a piece of a line in one style.
type Span struct {
	Text  string
	Style Style
}

// NewCode returns the state before code in a language.
func NewCode(language string) *Code { return &Code{lang: languageOf(language)} }

// CodeOf returns the state before the code in a file, by its name; nil if its language is not known.
func CodeOf(file string) *Code {
	name := path.Base(file)
	if ext := path.Ext(name); ext != "" {
		name = strings.TrimPrefix(ext, ".")
	}
	if c := NewCode(name); c.lang != nil {
		return c
	}
	return nil
}

// Again forgets what earlier lines left open.
func (c *Code) Again() { *c = Code{lang: c.lang} }

type token uint8

const (
	word token = iota
	keyword
	literal
	comment
	number
	key
)

func (t Theme) token(k token) Style {
	switch k {
	case keyword:
		return t.Keyword
	case literal:
		return t.String
	case comment:
		return t.Comment
	case number:
		return t.Number
	case key:
		return t.Key
	}
	return t.Plain
}

// Line colors the next line.
func (l *Code) Line(s string, theme Theme) []Span {
	if l.lang == nil {
		return []Span{{s, theme.Plain}}
	}
	if l.lang.diff {
		return []Span{{s, l.hunk.line(s, theme)}}
	}
	var spans []Span
	begun := 0 // where the last span begins
	add := func(from, to int, k token) {
		style := theme.token(k)
		if n := len(spans); n > 0 && spans[n-1].Style == style {
			spans[n-1].Text = s[begun:to]
		} else if to > from {
			spans, begun = append(spans, Span{s[from:to], style}), from
		}
	}
	for i := 0; i < len(s); {
		if l.until != "" {
			n, closed := l.inside(s[i:])
			add(i, i+n, l.open)
			if i += n; closed {
				l.until = ""
			}
			continue
		}
		n, k := l.next(s, i)
		add(i, i+n, k)
		i += n
	}
	if l.until != "" && !l.multi() {
		l.until = ""
	}
	return spans
}

// inside finds the end of what is open.
func (l *Code) inside(s string) (n int, closed bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && !l.raw && l.open == literal:
			i++
		case strings.HasPrefix(s[i:], l.until):
			return i + len(l.until), true
		}
	}
	return len(s), false
}

func (l *Code) multi() bool {
	if l.open == comment {
		return true
	}
	for _, q := range l.lang.quotes {
		if q.close == l.until {
			return q.lines
		}
	}
	return false
}

// next reads one token at i. What goes on is left open.
func (l *Code) next(s string, i int) (int, token) {
	g, rest := l.lang, s[i:]
	for _, c := range g.comments {
		if strings.HasPrefix(rest, c) && (c != "#" || i == 0 || s[i-1] == ' ') {
			return len(rest), comment
		}
	}
	if g.block[0] != "" && strings.HasPrefix(rest, g.block[0]) {
		l.until, l.open, l.raw = g.block[1], comment, true
		return len(g.block[0]), comment
	}
	for _, q := range g.quotes {
		if strings.HasPrefix(rest, q.open) && !(g.lifetimes && q.open == "'" && !isChar(rest)) {
			l.until, l.open, l.raw = q.close, literal, q.raw
			return len(q.open), literal
		}
	}
	n := 0
	for n < len(rest) && isLetter(rest[n]) {
		n++
	}
	switch {
	case n == 0:
		return 1 + tail(rest[1:]), word
	case rest[0] >= '0' && rest[0] <= '9':
		for n+1 < len(rest) && rest[n] == '.' && isLetter(rest[n+1]) {
			for n++; n < len(rest) && isLetter(rest[n]); n++ {
			}
		}
		return n, number
	}
	w := rest[:n]
	if g.keys && strings.HasPrefix(strings.TrimLeft(rest[n:], "-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), ":") && strings.Trim(s[:i], " -") == "" {
		return strings.IndexByte(rest, ':'), key
	}
	if g.fold {
		w = strings.ToLower(w)
	}
	if g.words[w] {
		return n, keyword
	}
	return n, word
}

// tail is how many bytes more belong to the character that began before s.
func tail(s string) int {
	n := 0
	for n < len(s) && s[n]&0xc0 == 0x80 {
		n++
	}
	return n
}

func isLetter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// isChar tells 'x' from the 'a of a lifetime.
func isChar(s string) bool {
	if len(s) > 1 && s[1] == '\\' {
		return true
	}
	end := strings.IndexByte(s[1:], '\'')
	return end >= 1 && end <= 4
}

type language struct {
	words     map[string]bool
	comments  []string  // to the end of the line
	block     [2]string // comments over several lines
	quotes    []quote   // the longer first
	fold      bool      // keywords in any case
	keys      bool      // words before a colon, at the beginning of a line
	lifetimes bool
	diff      bool
}

type quote struct {
	open, close string
	lines       bool // may go over several lines
	raw         bool // without backslashes
}

var (
	double   = quote{`"`, `"`, false, false}
	single   = quote{`'`, `'`, false, false}
	backtick = quote{"`", "`", true, false}
)

// languageOf finds a language by the names in use; nil is plain text.
func languageOf(name string) *language {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" {
		return nil
	}
	all := languages()
	if l, ok := all[name]; ok {
		return l
	}
	return all[aliases[name]]
}

var aliases = map[string]string{
	"golang": "go", "py": "python", "python3": "python", "js": "javascript", "jsx": "javascript", "mjs": "javascript",
	"ts": "javascript", "tsx": "javascript", "typescript": "javascript", "rs": "rust", "sh": "shell", "bash": "shell",
	"zsh": "shell", "console": "shell", "dockerfile": "shell", "makefile": "shell", "jsonc": "json", "json5": "json", "ndjson": "json", "yml": "yaml",
	"toml": "yaml", "c++": "c", "cpp": "c", "h": "c", "java": "c", "cs": "c", "csharp": "c", "kotlin": "c", "kt": "c",
	"swift": "c", "scala": "c", "dart": "c", "php": "c", "zig": "c", "proto": "c", "postgresql": "sql", "sqlite": "sql",
	"mysql": "sql", "patch": "diff",
}

var languages = sync.OnceValue(func() map[string]*language {
	set := func(words string) map[string]bool {
		m := map[string]bool{}
		for _, w := range strings.Fields(words) {
			m[w] = true
		}
		return m
	}
	slashes, star := []string{"//"}, [2]string{"/*", "*/"}
	return map[string]*language{
		"go": {words: set(`break case chan const continue default defer else fallthrough for func go goto if import interface map package
			range return select struct switch type var true false nil iota any bool byte error float64 int int64 rune string uint`),
			comments: slashes, block: star, quotes: []quote{double, single, {"`", "`", true, true}}},
		"python": {words: set(`and as assert async await break class continue def del elif else except finally for from global if import in is
			lambda match case None nonlocal not or pass raise return True False try while with yield self`),
			comments: []string{"#"}, quotes: []quote{{`"""`, `"""`, true, false}, {`'''`, `'''`, true, false}, double, single}},
		"javascript": {words: set(`abstract any as async await boolean break case catch class const continue default delete do else enum export
			extends false finally for from function get if implements import in instanceof interface let new null number of private public
			readonly return set static string super switch this throw true try type typeof undefined var void while yield`),
			comments: slashes, block: star, quotes: []quote{double, single, backtick}},
		"rust": {words: set(`as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut
			pub ref return self Self static struct super trait true type unsafe use where while bool char f64 i32 i64 str u8 u32 u64 usize
			String Vec Option Result Some None Ok Err`),
			comments: slashes, block: star, quotes: []quote{double, single}, lifetimes: true},
		"shell": {words: set(`if then else elif fi for in do done while until case esac function return local export set unset exit cd echo
			source alias sudo`),
			comments: []string{"#"}, quotes: []quote{{`"`, `"`, true, false}, {`'`, `'`, true, true}}},
		"json": {words: set(`true false null`), comments: slashes, quotes: []quote{double}},
		"yaml": {words: set(`true false null yes no on off`), comments: []string{"#"}, quotes: []quote{double, {`'`, `'`, false, true}}, keys: true},
		"c": {words: set(`abstract auto bool boolean break byte case catch char class const continue default delete do double else enum extends
			extern false final finally float for fun func if implements import include inline int interface let long namespace new null nullptr
			override package private protected public return short signed sizeof static struct super switch template this throw true try
			typedef typename union unsigned using val var virtual void volatile while`),
			comments: slashes, block: star, quotes: []quote{double, single}},
		"sql": {words: set(`add all alter and as asc begin between by case check column commit constraint create cross default delete desc
			distinct drop else end exists explain foreign from full group having if in index inner insert into is join key left like limit
			not null offset on or order outer primary references returning right rollback select set table then transaction union unique
			update using values view when where with`),
			comments: []string{"--"}, block: star, quotes: []quote{{`'`, `'`, true, true}, double}, fold: true},
		"diff": {diff: true},
	}
})
