package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ramet/internal/base/text"
)

// judgeThing returns why something may not stay; empty: it may.
func judgeThing(root *os.Root, t thing) string {
	info, err := root.Lstat(t.path)
	if err != nil {
		return "" // it is gone
	}
	switch t.kind {
	case repository:
		if !info.IsDir() {
			return "a repository that lies elsewhere"
		}
		return judgeRepository(root, t.path)
	case guardAttributes:
		text, err := readPlain(root, t.path)
		if err != nil {
			return "attributes of git that cannot be read"
		}
		return judgeAttributes(text)
	case lines:
		content, err := readPlain(root, t.path)
		if err != nil {
			return "settings that cannot be read"
		}
		return judgeLines(t.path, content)
	case own:
		return judgeFolder(root, t.path, info.IsDir(), "ramet", ofRamet)
	case settings:
		return judgeFolder(root, t.path, info.IsDir(), "an editor or agent", func(name string) bool { return harmlessIn[strings.ToLower(name)] })
	case part:
		return ""
	case top:
		names, err := listFolder(root, ".")
		if err == nil && !takesForRepository(func(part string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return strings.ToLower(name) == part })
		}) {
			return "" // another part of it is gone
		}
		return judgeRepository(root, ".")
	case deep:
		return "it is too deep to be read"
	case hooks:
		return "git may run what is in it"
	}
	return "other programs execute it unasked"
}

// judgeFolder finds a name in a folder that is not known to be harmless.
func judgeFolder(root *os.Root, at string, isDir bool, who string, harmless func(string) bool) string {
	if !isDir {
		return "no folder, where " + who + " expects one"
	}
	names, err := listFolder(root, at)
	if err != nil {
		return "a folder that cannot be read"
	}
	for _, name := range names {
		if !harmless(name) {
			return fmt.Sprintf("%s acts upon %q in it", who, name)
		}
	}
	return ""
}

// judgeRepository allows what git init and git clone make.
func judgeRepository(root *os.Root, at string) string {
	names, err := listFolder(root, at)
	if err != nil {
		return "a repository that cannot be read"
	}
	for _, name := range names {
		switch strings.ToLower(name) {
		case "config.worktree", "commondir", "gitdir", "modules", "worktrees":
			return fmt.Sprintf("a repository with %s, which names others", name)
		}
	}
	if why := judgeHooks(root, path.Join(at, "hooks")); why != "" {
		return why
	}
	if text, err := readPlain(root, path.Join(at, "info", "attributes")); err == nil {
		if why := judgeAttributes(text); why != "" {
			return why
		}
	} else if !os.IsNotExist(err) {
		return "attributes of git that cannot be read"
	}
	text, err := readPlain(root, path.Join(at, "config"))
	if os.IsNotExist(err) {
		return ""
	}
	if err != nil {
		return "a configuration of git that cannot be read"
	}
	keys, err := parseConfig(text)
	if err != nil {
		return "a configuration of git that is not understood"
	}
	for _, k := range keys {
		if !k.harmless() {
			return fmt.Sprintf("the configuration of a repository that sets %s", k.name)
		}
	}
	return ""
}

// judgeHooks allows samples, which git does not run.
func judgeHooks(root *os.Root, at string) string {
	info, err := root.Lstat(at)
	if os.IsNotExist(err) {
		return ""
	}
	if err != nil || !info.IsDir() {
		return "a repository whose hooks lie elsewhere"
	}
	names, err := listFolder(root, at)
	if err != nil {
		return "hooks that cannot be read"
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sample") {
			return fmt.Sprintf("a repository with the hook %q", name)
		}
	}
	return ""
}

// plainAttributes are those that let git run no program: filters, drivers and encodings
// are defined elsewhere, by the user or by a repository's configuration.
var plainAttributes = text.Regexp(`^[!-]?(text|eol|crlf|binary|whitespace|conflict-marker-size|delta|export-ignore|export-subst|encoding|ident|linguist-[a-z]+|gitlab-[a-z]+)(=.*)?$|^[!-](diff|merge|filter)$`)

// ownDrivers are the ways to compare and merge that are built into git.
var ownDrivers = text.Regexp(`^(merge=(text|binary|union)|diff=(ada|bash|bibtex|cpp|csharp|css|dts|elixir|fortran|fountain|golang|html|java|kotlin|markdown|matlab|objc|pascal|perl|php|python|ruby|rust|scheme|tex))$`)

func judgeAttributes(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '"' { // a pattern with spaces in it
			if end := strings.LastIndexByte(line, '"'); end > 0 {
				line = "pattern" + line[end+1:]
			}
		}
		fields := strings.Fields(line)
		for _, a := range fields[1:] {
			if !plainAttributes().MatchString(a) && !ownDrivers().MatchString(a) {
				return fmt.Sprintf("attributes of git that name a program (%.40q)", a)
			}
		}
	}
	return ""
}

// maxConfig bounds what is read.
const maxConfig = 1 << 20

// readPlain reads a plain file, and no link.
func readPlain(root *os.Root, at string) (string, error) {
	if info, err := root.Lstat(at); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a plain file", at)
	}
	f, err := root.OpenFile(at, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("%s is longer than %d bytes", at, maxConfig)
	}
	return string(text), err
}

// listFolder names what is in a folder, which must be no link.
func listFolder(root *os.Root, at string) ([]string, error) {
	if info, err := root.Lstat(at); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", at)
	}
	dir, err := root.Open(at)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// judgeLines returns why a file of settings may not stay; empty: none of them runs anything.
func judgeLines(at, content string) string {
	name := strings.ToLower(path.Base(at))
	f, ok := formats()[name]
	if !ok {
		name = strings.ToLower(path.Base(path.Dir(at))) + "/" + name
		f, ok = formats()[name]
	}
	if !ok {
		return "other programs obey it unasked"
	}
	var all []string
	if f.sections {
		found, err := parseConfig("[top]\n" + strings.NewReplacer("[]=", "=", "[] =", "=").Replace(content))
		if err != nil {
			return "settings in " + name + " that are not understood"
		}
		for _, s := range found {
			all = append(all, s.name+"="+s.value)
		}
	} else {
		for line := range strings.Lines(content) {
			line = strings.TrimRight(line, " \t\r\n")
			if line != "" && line[0] != '#' {
				all = append(all, line)
			}
		}
	}
	for _, s := range all {
		if !f.harmless().MatchString(s) {
			return "settings in " + name + " that can run a program or name a server (" + text.Line(strings.TrimPrefix(s, "top."), 60) + ")"
		}
	}
	return ""
}

// setting is one line of a git configuration: its name, with everything but a subsection
// in small letters, and its value.
type setting struct{ name, value string }

// harmlessKeys are the settings that git init, git clone and git remote write, and those
// of a person's name. What they say runs nothing.
var harmlessKeys = text.Regexp(`^(core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|sharedrepository|quotepath)|` +
	`extensions\.(objectformat|refstorage|noop)|init\.defaultbranch|user\.(name|email)|remote\..*\.(fetch|tagopt|prune)|branch\..*\.(remote|merge|rebase)|pull\.rebase|push\.default|gc\.auto|commit\.gpgsign)$`)

// plainURL is an address that names no program (ext::) and no option.
var plainURL = text.Regexp(`^((https?|ssh|git|file)://[^-]|/|\.{1,2}/|[A-Za-z0-9][A-Za-z0-9._@-]*:[^:])`)

func (s setting) harmless() bool {
	if strings.HasPrefix(s.name, "remote.") && (strings.HasSuffix(s.name, ".url") || strings.HasSuffix(s.name, ".pushurl")) {
		return plainURL().MatchString(s.value)
	}
	if s.name == "commit.gpgsign" {
		return s.value == "false"
	}
	return harmlessKeys().MatchString(s.name)
}

var (
	errConfig = errors.New("not understood")
	section   = text.Regexp(`^\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]`)
	key       = text.Regexp(`^([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$`)
)

// parseConfig reads the plain form of a git configuration, as git itself writes it.
// What is stranger is an error: who cannot read it cannot judge it.
func parseConfig(text string) ([]setting, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	var out []setting
	at := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := section().FindStringSubmatch(line); m != nil {
			at = strings.ToLower(m[1])
			if m[2] != "" || strings.Contains(m[0], `"`) {
				at += "." + m[2]
			}
			line = strings.TrimSpace(line[len(m[0]):])
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		m := key().FindStringSubmatch(line)
		// A line that continues, or a value in quotes, may hide what it means.
		if m == nil || at == "" || strings.ContainsAny(m[2], "\\") || strings.Count(m[2], `"`)%2 == 1 {
			return nil, errConfig
		}
		value := strings.TrimSpace(m[2])
		if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		out = append(out, setting{at + "." + strings.ToLower(m[1]), value})
	}
	return out, nil
}
