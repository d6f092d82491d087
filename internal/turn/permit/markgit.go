package permit

import (
	"slices"
	"strings"

	"ramet/internal/base/text"
)

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

// gitRuns marks what git itself is told to run.
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
