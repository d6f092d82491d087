package markdown

import (
	"strings"
	"sync"
)

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
