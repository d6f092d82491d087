package permit

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"ramet/internal/base/text"
)

// What cannot be undone, or cannot be known: for such a call no rule is saved. The
// marks look at everything that a line would run as far as it can be read: in lists,
// loops, functions and substitutions, behind sudo, env, xargs and their kin, and in
// texts that a shell is given. They rather mark too much: then a call is asked for
// once more.

// markCommandLine returns why no rule may be saved for a command line; none: one may.
func markCommandLine(line string) []string {
	var m marker
	m.line(line, 0)
	return m.found
}

type marker struct {
	found []string
	read  int // words so far
}

func (m *marker) add(why string) {
	if !slices.Contains(m.found, why) {
		m.found = append(m.found, why)
	}
}

// The reasons.
const (
	unreadable = "it cannot be read before it runs"
	fed        = "it runs what it is given when it runs"
	deletes    = "it deletes with everything below"
	throws     = "it throws work away"
	forces     = "it forces"
	pushes     = "it pushes"
	publishes  = "it publishes or changes what others see"
	privileged = "it takes privileges"
)

// maxNesting bounds texts for shells in texts for shells, maxRead the words that are looked at in all: each word behind a
// program that starts others may be the beginning of one that does, too.
const (
	maxNesting = 6
	maxRead    = 1 << 20
)

// arg is a word as far as it can be read.
type arg struct {
	text string
	open bool // something in it is known only when it runs
}

// reads counts what is looked at; false: it was too much, and whatever is left stays unread.
func (m *marker) reads(n int) bool {
	m.read += n
	if m.read > maxRead {
		m.add(unreadable)
	}
	return m.read <= maxRead
}

func (m *marker) line(s string, depth int) {
	if len(s) > maxLine || depth > maxNesting {
		m.add(unreadable)
		return
	}
	if !m.reads(4 * (16 + len(s))) { // parsing takes longer than looking
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(s), "")
	if err != nil {
		m.add(unreadable)
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if a, ok := n.(*syntax.Assign); ok && a.Name != nil && a.Value != nil {
			m.assigned(a.Name.Value, readArg(a.Value), depth)
		}
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			args := make([]arg, len(c.Args))
			for i, w := range c.Args {
				args[i] = readArg(w)
			}
			m.command(args, depth)
		}
		return true
	})
}

// readArg takes the quotes off a word and leaves out what cannot be known.
func readArg(w *syntax.Word) arg {
	out, _ := readWord(w)
	return arg{out.text, out.unknown}
}

// command marks one command and, where it starts others, each of them: whatever
// could be the beginning of one.
func (m *marker) command(args []arg, depth int) {
	if args[0].open {
		m.add(fed)
	}
	m.plain(args, depth)
	name := programName(args[0].text)
	if slices.Contains(wrappers(), name) {
		m.wrapped(name, args[1:], depth)
	} else if words, ok := runners[name]; ok {
		if at := slices.IndexFunc(args[1:], func(a arg) bool { return slices.Contains(strings.Fields(words), a.text) }); at >= 0 {
			m.wrapped(name, args[at+2:], depth)
		}
	}
}

// wrapped marks what a program is told to start.
func (m *marker) wrapped(name string, args []arg, depth int) {
	named := false
	for i, a := range args {
		if !m.reads(1) {
			return
		}
		rest := args[i:]
		if strings.HasPrefix(a.text, "-") && !strings.ContainsAny(a.text, " \t\n") {
			continue
		}
		if variable, value, ok := strings.Cut(a.text, "="); ok && assignment().MatchString(a.text) {
			m.assigned(variable, arg{value, a.open}, depth)
		}
		if a.open && !named && name != "find" && !assignment().MatchString(a.text) {
			m.add(fed)
		}
		named = true
		if strings.ContainsAny(a.text, " \t\n;|&") {
			m.line(a.text, depth+1)
		}
		m.plain(rest, depth)
		if deleted := programName(a.text); (name == "xargs" || name == "parallel" || name == "find") && slices.Contains(slices.Concat(deleters(), enders()), deleted) {
			m.add(deletes + " (" + name + " " + deleted + ")")
		}
	}
}

// plain marks one command by its own name and arguments.
func (m *marker) plain(args []arg, depth int) {
	if !m.reads(len(args)) {
		return
	}
	name, rest := programName(args[0].text), args[1:]
	for _, a := range rest {
		if strings.HasPrefix(a.text, "--force") {
			m.add(forces + " (" + name + " " + a.text + ")")
		}
	}
	if slices.Contains(forcing(), name) && hasShortOption(rest, 'f') {
		m.add(forces + " (" + name + " -f)")
	}
	if slices.Contains(powers(), name) || (name == "chmod" || name == "install") && setsID(rest) || slices.Contains(containers(), name) && slices.ContainsFunc(rest, breaksOut) {
		m.add(privileged + " (" + name + ")")
	}
	m.told(name, rest, depth)
	switch {
	case name == "source" || name == ".":
		if len(rest) > 0 && isStream(rest[0]) {
			m.add(fed)
		}
	case name == "alias":
		for _, a := range rest {
			_, value, _ := strings.Cut(a.text, "=")
			m.line(value, depth+1)
		}
	case slices.Contains(interpreters, strings.TrimRight(name, "0123456789.")):
		m.interpreter(name, rest, depth)
	case slices.Contains(shells(), name):
		m.shell(rest, depth)
	case name == "eval" || name == "trap":
		m.text(rest, depth)
	case slices.Contains(deleters(), name):
		m.rm(name, rest)
	case slices.Contains(enders(), name) || strings.HasPrefix(name, "mkfs"):
		m.add(deletes + " (" + name + ")")
	case strings.HasPrefix(name, "docker") && hasOption(rest, "down") && (hasOption(rest, "-v") || hasOption(rest, "--volumes")):
		m.add(deletes + " (" + name + " down -v)")
	case name == "find" && hasOption(rest, "-delete"):
		m.add(deletes + " (find -delete)")
	case name == "rsync" && slices.ContainsFunc(rest, func(a arg) bool { return strings.HasPrefix(a.text, "--del") }):
		m.add(deletes + " (rsync --delete)")
	case name == "git":
		m.git(rest, depth)
	}
	m.outward(name, rest)
	m.code(name, rest)
}

// rm marks what deletes folders, or may: options can hide in a variable.
func (m *marker) rm(name string, rest []arg) {
	long := func(a arg, option string) bool { return len(a.text) > 2 && strings.HasPrefix(option, a.text) }
	for _, a := range rest {
		switch {
		case a.text == "--":
			return
		case a.open:
			m.add(deletes + ", or may (" + name + " with a variable)")
		case long(a, "--force"):
			m.add(forces + " (" + name + " " + a.text + ")")
		case long(a, "--recursive"):
			m.add(deletes + " (" + name + " " + a.text + ")")
		}
	}
	if hasShortOption(rest, 'r') || hasShortOption(rest, 'R') || name == "rimraf" || name == "rd" {
		m.add(deletes + " (" + name + " -r)")
	}
}

// shell marks what a shell is told to run; one that is told nothing runs its input.
func (m *marker) shell(rest []arg, depth int) {
	told := false
	for _, a := range rest {
		if strings.HasPrefix(a.text, "-") || strings.HasPrefix(a.text, "+") {
			told = told || strings.HasPrefix(a.text, "--") && a.text != "--" && !a.open // such as --version
			continue
		}
		told = true
		if a.open || isStream(a) {
			m.add(fed)
		}
		m.line(a.text, depth+1)
	}
	if !told || hasOption(rest, "-s") {
		m.add(fed)
	}
}

// text marks words that are put together to a line.
func (m *marker) text(rest []arg, depth int) {
	if !m.reads(len(rest)) {
		return
	}
	var all []string
	for _, a := range rest {
		if a.open {
			m.add(fed)
		}
		all = append(all, a.text)
	}
	m.line(strings.Join(all, " "), depth+1)
	for _, one := range all {
		m.line(one, depth+1)
	}
}

// programName returns the name of a program, without the way to it.
func programName(s string) string {
	return strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(s, `\`, "/"))), ".exe")
}

func hasOption(list []arg, option string) bool {
	return slices.ContainsFunc(list, func(a arg) bool { return a.text == option })
}

// hasShortOption reports whether a letter is among the short options.
func hasShortOption(list []arg, letter byte) bool {
	for _, a := range list {
		if a.text == "--" {
			return false
		}
		if len(a.text) > 1 && a.text[0] == '-' && a.text[1] != '-' && strings.IndexByte(a.text, letter) > 0 {
			return true
		}
	}
	return false
}

// setsID reports whether a mode for chmod lets others run a file as its owner.
func setsID(list []arg) bool {
	return slices.ContainsFunc(list, func(a arg) bool {
		mode := strings.TrimPrefix(strings.TrimPrefix(a.text, "--mode="), "-m")
		if isDigits(mode) {
			return len(strings.TrimLeft(mode, "0")) > 3
		}
		return slices.ContainsFunc(strings.Split(mode, ","), setsIDWord().MatchString)
	})
}

// setsIDWord is a clause of a symbolic mode.
var setsIDWord = text.Regexp(`^[ugoa]*[+=][rwxXt]*s`)

// breaksOut reports whether an option gives a container rights over its host.
func breaksOut(a arg) bool {
	return strings.HasPrefix(a.text, "--privileged") || strings.HasPrefix(a.text, "--cap-add") || strings.HasPrefix(a.text, "--security-opt") ||
		a.text == "--pid=host" || a.text == "--userns=host"
}

// isStream reports whether a file is what another program prints, or the input.
func isStream(a arg) bool {
	return a.open && a.text == "" || a.text == "-" || a.text == "/dev/stdin" || strings.HasPrefix(a.text, "/dev/fd/") || strings.HasPrefix(a.text, "/proc/self/fd/")
}

// interpreter marks what a program runs that takes code: a module by its name, and whatever comes when it is
// told no file.
func (m *marker) interpreter(name string, rest []arg, depth int) {
	for i, a := range rest {
		switch {
		case isStream(a):
			m.add(fed + " (" + name + ")")
			return
		case !strings.HasPrefix(a.text, "-"):
			if a.text == "setup.py" && (hasOption(rest, "upload") || hasOption(rest, "register")) {
				m.add(publishes + " (setup.py)")
			}
			return
		case strings.HasPrefix(name, "python") && a.text == "-m":
			if i+1 < len(rest) {
				m.command(rest[i+1:], depth)
			}
			return
		case strings.HasPrefix(name, "python") && strings.HasPrefix(a.text, "-m"):
			m.command(append([]arg{{text: a.text[2:], open: a.open}}, rest[i+1:]...), depth)
			return
		case strings.HasPrefix(a.text, "--"), strings.ContainsAny(a.text[1:], "ceEprVvh"): // code, or a question about itself
			return
		}
	}
	m.add(fed + " (" + name + ")")
}

// told marks the lines that a program is told to run by its options.
func (m *marker) told(name string, rest []arg, depth int) {
	for _, option := range strings.Fields(lines()[name]) {
		for i, a := range rest {
			value, ok := "", false
			switch {
			case a.text == option:
				if ok = i+1 < len(rest); ok {
					value = rest[i+1].text
				}
			case len(option) > 2:
				value, ok = strings.CutPrefix(a.text, option+"=")
			case len(option) == 2 && len(a.text) > 2 && a.text[0] == '-' && a.text[1] != '-':
				_, value, ok = strings.Cut(a.text[1:], option[1:])
			}
			if !ok || value == "" {
				continue
			}
			if _, behind, ok := strings.Cut(value, "="); ok && assignment().MatchString(value) { // exec=…, ProxyCommand=…
				value = behind
			}
			m.line(strings.TrimLeft(value, ":!|"), depth+1)
		}
	}
}

// assigned marks what a variable makes programs run.
func (m *marker) assigned(variable string, value arg, depth int) {
	switch {
	case strings.HasPrefix(variable, "GIT_CONFIG_"):
		m.add(fed + " (" + variable + ")")
	case executed().MatchString(variable):
		if value.open {
			m.add(fed + " (" + variable + ")")
		}
		m.line(strings.TrimLeft(value.text, "|-!"), depth+1)
	}
}

// gitKnown are the commands of git whose meaning no configuration changes. Others may be
// aliases of the user, for whatever.
var gitKnown = strings.Fields(`add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap
	check-ref-format checkout checkout-index cherry cherry-pick clean clone commit commit-graph commit-tree config count-objects
	describe diff diff-files diff-index diff-tree difftool fast-export fast-import fetch filter-branch for-each-ref format-patch
	fsck gc grep hash-object help index-pack init interpret-trailers log ls-files ls-remote ls-tree maintenance merge merge-base
	merge-file merge-tree mergetool mv name-rev notes pack-objects pack-refs patch-id prune pull push range-diff read-tree rebase
	reflog remote repack replace request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack shortlog show
	show-branch show-index show-ref sparse-checkout stash status stripspace submodule subtree switch symbolic-ref tag
	unpack-objects update-index update-ref update-server-info var verify-commit verify-pack verify-tag version whatchanged worktree
	write-tree lfs svn filter-repo http-push`)

// gitValued are the options of git itself that take the next word.
var gitValued = strings.Fields("-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source")

// gitRunning are the settings whose values git runs.
var gitRunning = text.Regexp(`(?i)(command|pager|pager\..*|editor|helper|external|textconv|cmd|program|driver|clean|smudge|process|fsmonitor|askpass|proxy)$`)

// gitForced are the commands of git whose -f forces.
var gitForced = strings.Fields("add branch checkout clean fetch mv notes pull push rebase replace rm submodule switch tag worktree")

// git marks a command of git, wherever in the line it stands.
func (m *marker) git(args []arg, depth int) {
	i := 0
	for ; i < len(args) && strings.HasPrefix(args[i].text, "-"); i++ {
		if args[i].text == "--config-env" || strings.HasPrefix(args[i].text, "--config-env=") {
			m.add(fed)
		}
		if slices.Contains(gitValued, args[i].text) && i+1 < len(args) {
			i++
		}
		if strings.Contains(strings.ToLower(args[i].text), "alias.") {
			m.add(fed + " (an alias of git)")
		}
		if key, value, ok := strings.Cut(args[i].text, "="); ok && gitRunning().MatchString(key) {
			if args[i].open {
				m.add(fed + " (" + key + ")")
			}
			m.line(strings.TrimLeft(value, "!"), depth+1)
		}
	}
	if i == len(args) {
		return
	}
	if args[i].open {
		m.add(fed)
		return
	}
	verb, rest := args[i].text, args[i+1:]
	first := ""
	if at := slices.IndexFunc(rest, func(a arg) bool { return !strings.HasPrefix(a.text, "-") }); at >= 0 {
		first = rest[at].text
	}
	long := func(option string, least int) bool {
		return slices.ContainsFunc(rest, func(a arg) bool { return len(a.text) >= least && strings.HasPrefix(option, a.text) })
	}
	if slices.Contains(gitForced, verb) && (hasShortOption(rest, 'f') || long("--force", 4)) {
		m.add(forces + " (git " + verb + ")")
	}
	switch verb {
	case "push", "send-pack", "http-push", "send-email":
		m.add(pushes + " (git " + verb + ")")
	case "subtree", "lfs", "svn":
		if hasOption(rest, "push") || hasOption(rest, "dcommit") {
			m.add(pushes + " (git " + verb + ")")
		}
	case "reset":
		if long("--hard", 4) || long("--merge", 4) || long("--keep", 4) {
			m.add(throws + " (git reset)")
		}
	case "clean", "restore", "filter-branch", "filter-repo", "prune":
		if verb != "clean" || !hasShortOption(rest, 'n') && !long("--dry-run", 4) {
			m.add(throws + " (git " + verb + ")")
		}
	case "checkout", "switch":
		if hasOption(rest, "--") || hasOption(rest, ".") || checksOutFiles(verb, rest) || hasShortOption(rest, 'B') || hasShortOption(rest, 'C') || long("--discard-changes", 5) {
			m.add(throws + " (git " + verb + ")")
		}
	case "branch", "tag", "update-ref", "replace", "notes", "remote", "stash", "reflog", "worktree", "gc":
		if hasShortOption(rest, 'd') || hasShortOption(rest, 'D') || hasShortOption(rest, 'M') || long("--delete", 4) || slices.ContainsFunc(rest, func(a arg) bool {
			return slices.Contains([]string{"drop", "clear", "delete", "expire", "remove", "rm", "prune"}, a.text) || strings.HasPrefix(a.text, "--prune=")
		}) {
			m.add(throws + " (git " + verb + ")")
		}
	case "rm":
		if hasShortOption(rest, 'r') {
			m.add(deletes + " (git rm -r)")
		}
	case "submodule", "bisect", "rebase", "difftool", "mergetool", "config":
		m.gitRuns(verb, first, rest, depth)
	}
	if !slices.Contains(gitKnown, verb) {
		m.add(fed + " (git " + verb + " may be an alias)")
	}
}

// checksOutFiles reports whether a checkout takes files out of a commit, over what was done in them.
func checksOutFiles(verb string, rest []arg) bool {
	names := 0
	for _, a := range rest {
		switch {
		case !strings.HasPrefix(a.text, "-"):
			names++
		case strings.HasPrefix(a.text, "-b"), strings.HasPrefix(a.text, "-t"), strings.HasPrefix(a.text, "--track"), strings.HasPrefix(a.text, "--orphan"):
			return false // a new branch, and where it begins
		}
	}
	return verb == "checkout" && names > 1
}

// gitRuns marks what git itself is asked to run.
func (m *marker) gitRuns(verb, first string, rest []arg, depth int) {
	for i, a := range rest {
		if !m.reads(1) {
			return
		}
		switch {
		case verb == "config" && strings.HasPrefix(strings.ToLower(a.text), "alias."), verb == "difftool", verb == "mergetool":
			m.add(fed + " (git " + verb + ")")
		case verb == "submodule" && a.text == "foreach" && first == "foreach", verb == "bisect" && a.text == "run":
			told := rest[i+1:]
			for len(told) > 0 && strings.HasPrefix(told[0].text, "-") {
				told = told[1:]
			}
			if len(told) > 0 {
				m.command(told, depth)
				m.text(told, depth)
			}
		case verb == "rebase" && (a.text == "-x" || a.text == "--exec") && i+1 < len(rest):
			m.line(rest[i+1].text, depth+1)
		case verb == "rebase" && strings.HasPrefix(a.text, "--exec="):
			m.line(strings.TrimPrefix(a.text, "--exec="), depth+1)
		case verb == "rebase" && strings.HasPrefix(a.text, "-x"):
			m.line(a.text[2:], depth+1)
		}
	}
}
