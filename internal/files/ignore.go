package files

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// IgnoreNames are the files that hold rules, the strongest first.
var IgnoreNames = []string{".rgignore", ".ignore", ".gitignore"}

// most limits how much of a file of rules is read.
const most = 1 << 20

// layer is the rules that begin in one folder.
type layer struct {
	up *layer
	at string // where that folder is, seen from the folder of the layer above: "a/b/"

	own  [][]rule // one list for each of the names
	base [][]rule // what a repository has beside: its exclude file, the global excludes
	repo bool     // a repository begins here
	sum  uint64   // of all rules from here upwards
}

// IgnoreFolder is a folder with the rules that hold in it. The zero value has none.
type IgnoreFolder struct {
	layer  *layer
	prefix string // where it is, seen from the folder of the layer: "" or "a/b/"
}

// TopIgnore returns a folder where a walk begins, with the rules of its repository from the folders
// above. env has HOME and XDG_CONFIG_HOME.
func TopIgnore(dir string, env []string) IgnoreFolder {
	return TopIgnoreWith(dir, env, ReadIgnore(dir))
}

// TopIgnoreWith is Top with other files of rules in the folder itself than those that are there.
func TopIgnoreWith(dir string, env []string, own func(name string) []byte) IgnoreFolder {
	excluded := globalExcludes(env)
	global := parse(excluded)
	var above []string
	for at := dir; ; at = filepath.Dir(at) {
		above = append(above, at)
		if isRepo(at) {
			break
		}
		if filepath.Dir(at) == at { // no repository: only what is in the folder counts
			above = above[:1]
			break
		}
	}
	sum := fnv.New64a()
	sum.Write(excluded)
	f := IgnoreFolder{layer: &layer{base: [][]rule{global}, sum: sum.Sum64()}}
	for i := len(above) - 1; i >= 0; i-- {
		if i < len(above)-1 {
			f.prefix += filepath.Base(above[i]) + "/"
		}
		read := own
		if i > 0 {
			read = ReadIgnore(above[i])
		}
		f = f.with(isRepo(above[i]), read)
		if f.layer.repo && i == len(above)-1 {
			f.layer.base = append(f.layer.base, global)
		}
	}
	return f
}

// Enter returns a folder in this one. read gives the content of a file in it, nil where there is
// none; has reports whether a name is there, so that nothing is read in vain.
func (f IgnoreFolder) Enter(name string, has func(string) bool, read func(string) []byte) IgnoreFolder {
	f.prefix += name + "/"
	rules := false
	for _, n := range IgnoreNames {
		rules = rules || has(n)
	}
	repo := has(".git")
	if !rules && !repo {
		return f
	}
	var global []rule
	for l := f.layer; l != nil; l = l.up {
		if n := len(l.base); n > 0 {
			global = l.base[n-1]
		}
	}
	f = f.with(repo, func(n string) []byte {
		if n != excludes && !has(n) {
			return nil
		}
		return read(n)
	})
	if repo {
		f.layer.base = append(f.layer.base, global)
	}
	return f
}

// excludes are the rules of one clone, which are not committed.
const excludes = ".git/info/exclude"

func (f IgnoreFolder) with(repo bool, read func(string) []byte) IgnoreFolder {
	l := &layer{up: f.layer, at: f.prefix, repo: repo}
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%d %q %t", f.Sum(), f.prefix, repo)
	parsed := func(n string) []rule {
		text := read(n)
		fmt.Fprintf(sum, " %q", text)
		return parse(text)
	}
	for _, n := range IgnoreNames {
		l.own = append(l.own, parsed(n))
	}
	if repo {
		l.base = [][]rule{parsed(excludes)}
	}
	l.sum = sum.Sum64()
	return IgnoreFolder{layer: l}
}

// Sum differs, as good as always, where other rules hold: what was left out by the same sum
// in the same folder is left out now.
func (f IgnoreFolder) Sum() uint64 {
	if f.layer == nil {
		return 0
	}
	return f.layer.sum
}

// Ignores reports whether a name in the folder is left out.
func (f IgnoreFolder) Ignores(name string, dir bool) bool {
	for kind := range IgnoreNames {
		path := f.prefix + name
		for l := f.layer; l != nil; l = l.up {
			if kind < len(l.own) {
				if v := judge(l.own[kind], path, dir); v != ignoreSilent {
					return v == out
				}
			}
			if l.repo && IgnoreNames[kind] == ".gitignore" {
				break
			}
			path = l.at + path
		}
	}
	path := f.prefix + name
	for l := f.layer; l != nil; l = l.up {
		for _, rules := range l.base {
			if v := judge(rules, path, dir); v != ignoreSilent {
				return v == out
			}
		}
		if l.repo {
			return false
		}
		path = l.at + path
	}
	return false
}

func isRepo(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// ReadIgnore reads files of rules in a folder.
func ReadIgnore(dir string) func(name string) []byte {
	return func(name string) []byte { return readFile(filepath.Join(dir, name)) }
}

func readFile(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return b
}

// globalExcludes returns the file that core.excludesFile of the user's git names, or else git's
// own default.
func globalExcludes(env []string) []byte {
	home, config := "", ""
	for _, pair := range env {
		if v, ok := strings.CutPrefix(pair, "HOME="); ok {
			home = v
		}
		if v, ok := strings.CutPrefix(pair, "XDG_CONFIG_HOME="); ok {
			config = v
		}
	}
	if config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	if home != "" {
		if named := excludesFile(string(readFile(filepath.Join(home, ".gitconfig")))); named != "" {
			return readFile(expand(named, home))
		}
	}
	if config == "" {
		return nil
	}
	if named := excludesFile(string(readFile(filepath.Join(config, "git", "config")))); named != "" {
		return readFile(expand(named, home))
	}
	return readFile(filepath.Join(config, "git", "ignore"))
}

func expand(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}

// excludesFile finds core.excludesFile in a configuration of git.
func excludesFile(config string) string {
	section, found := "", ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(line, "[] "))
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && section == "core" && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
			found = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return found
}

// rule is one line of a file of rules.
type rule struct {
	pattern  string
	kind     kind
	keep     bool // a line with "!": what fits is not left out
	dirs     bool // only folders fit
	anchored bool // held against the whole path, not the last name
}

// kind describes how a pattern is compared: most are plain names and endings.
type kind int

const (
	glob kind = iota
	plain
	ending // "*" and a plain rest
)

// verdict is the decision of rules about a path.
type verdict int

const (
	ignoreSilent verdict = iota
	out
	kept
)

// judge returns the word of the last rule that fits.
func judge(rules []rule, path string, dir bool) verdict {
	if len(rules) == 0 {
		return ignoreSilent
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	for i := len(rules) - 1; i >= 0; i-- {
		r := &rules[i]
		if r.dirs && !dir {
			continue
		}
		subject := name
		if r.anchored {
			subject = path
		}
		if !r.fits(subject) {
			continue
		}
		if r.keep {
			return kept
		}
		return out
	}
	return ignoreSilent
}

func (r *rule) fits(subject string) bool {
	switch r.kind {
	case plain:
		return subject == r.pattern
	case ending:
		return strings.HasSuffix(subject, r.pattern)
	}
	return doublestar.MatchUnvalidated(r.pattern, subject)
}

// parse reads rules. Lines that git would not understand are passed over.
func parse(file []byte) []rule {
	var rules []rule
	for line := range strings.Lines(strings.TrimPrefix(string(file), "\uFEFF")) {
		if r, ok := parseLine(line); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseLine(line string) (r rule, ok bool) {
	line = trimSpaces(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	if line == "" || line[0] == '#' {
		return r, false
	}
	if line[0] == '!' {
		r.keep, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirs, line = true, strings.TrimSuffix(line, "/")
	}
	if rest, ok := strings.CutPrefix(line, "/"); ok {
		r.anchored, line = true, rest
	}
	r.anchored = r.anchored || strings.Contains(line, "/")
	if line == "" {
		return r, false
	}
	special := strings.ContainsAny
	switch {
	case !special(line, `*?[\`):
		r.kind = plain
	case !r.anchored && line[0] == '*' && len(line) > 1 && !special(line[1:], `*?[\`):
		r.kind, line = ending, line[1:]
	case !r.anchored && line == "**":
		line = "*"
	default:
		// Braces are plain to git, and "abc/**" is what is in abc, not abc itself.
		line = strings.NewReplacer(`{`, `\{`, `}`, `\}`, `\{`, `\{`, `\}`, `\}`).Replace(line)
		if rest, ok := strings.CutSuffix(line, "/**"); ok {
			line = rest + "/**/*"
		}
		if !doublestar.ValidatePattern(line) {
			return r, false
		}
	}
	r.pattern = line
	return r, true
}

// trimSpaces takes spaces from the end, but for one behind a backslash.
func trimSpaces(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}
