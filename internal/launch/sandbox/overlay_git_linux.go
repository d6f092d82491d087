package sandbox

import (
	"path"
	"slices"
	"strings"

	"ramet/internal/base/text"
)

// What a command may change in a repository that exists: what git add, commit, checkout, merge, rebase, fetch, tag, stash and gc
// write. Everything else can make git run a program, or leads it to another repository: configuration, hooks, attributes,
// alternates, worktrees, modules.
var (
	gitObjects = text.Regexp(`^objects/([0-9a-f]{2}/[0-9a-f]{38,62}|pack/(pack|multi-pack-index)[^/]*|info/(packs|commit-graph|commit-graphs/[^/]+))$`)
	gitFiles   = text.Regexp(`^(HEAD|index|sharedindex\.[0-9a-f]+|(ORIG|FETCH|MERGE|CHERRY_PICK|REVERT|REBASE)_HEAD|MERGE_(MSG|MODE|RR)|AUTO_MERGE|SQUASH_MSG|(COMMIT|TAG)_EDITMSG|` +
		`packed-refs|shallow|gc\.log|info/refs|(refs|logs)/.+|sequencer/(todo|head|abort-safety)|` +
		`rebase-merge/(head-name|onto|orig-head|msgnum|end|done|git-rebase-todo(\.backup)?|message(-squash|-fixup)?|author-script|stopped-sha|amend|interactive|quiet|verbose|patch|` +
		`rewritten-(list|pending)|(keep|drop)_redundant_commits|cdate_is_adate|ignore_date|(no-)?reschedule-failed-exec|update-refs|refs-to-delete|autostash|squash-onto|current-fixups|signoff))$`)
	gitFolders = text.Regexp(`^(objects/([0-9a-f]{2}|pack|info|info/commit-graphs)|(refs|logs)(/.+)?|sequencer|rebase-merge|info)$`)
	gitLasting = text.Regexp(`^(HEAD|index|objects|refs)$`) // not removed
	gitRefs    = text.Regexp(`^(refs|logs)/`)
	refContent = text.Regexp(`^(ref: refs/|[0-9a-f]{40,64}(\s|$))`)
	todoRuns   = text.Regexp(`(?m)^\s*(x|exec)\b`)
	branchKeys = text.Regexp(`^branch\..*\.(remote|merge|rebase)$`)
)

// judgeInRepository returns why a command may not write a path of a repository; empty: it may. Of a regular file, content
// returns what is in it.
func judgeInRepository(rel string, folder, regular bool, content func() string) string {
	base := path.Base(rel)
	switch {
	case folder && gitFolders().MatchString(rel):
		return ""
	case folder || !regular:
		return "git could be led by it to run a program"
	case gitObjects().MatchString(rel):
		return ""
	case !gitFiles().MatchString(rel):
		return "git could be led by it to run a program"
	case (strings.HasPrefix(base, "git-rebase-todo") || base == "todo") && todoRuns().MatchString(content()):
		return "a rebase that runs programs"
	}
	if gitRefs().MatchString(rel) && !refContent().MatchString(content()) {
		return "no reference of git" // a configuration, for git in that folder
	}
	return ""
}

// judgeConfigChange returns why a command may not make one configuration of a repository out of another; empty: it only says
// which branch of a known remote a branch follows.
func judgeConfigChange(was, is string) string {
	const why = "a change of the configuration of git"
	before, err := parseConfig(was)
	if err != nil {
		return why
	}
	after, err := parseConfig(is)
	if err != nil {
		return why
	}
	remotes := map[string]bool{".": true}
	for _, s := range before {
		if name, ok := strings.CutPrefix(s.name, "remote."); ok && strings.HasSuffix(name, ".url") {
			remotes[strings.TrimSuffix(name, ".url")] = true
		}
	}
	follows := func(s setting) bool { return branchKeys().MatchString(s.name) }
	for _, s := range after {
		if follows(s) && !slices.Contains(before, s) && strings.HasSuffix(s.name, ".remote") && !remotes[s.value] {
			return why + ": " + text.Line(s.name, 80)
		}
	}
	if !slices.Equal(slices.DeleteFunc(before, follows), slices.DeleteFunc(after, follows)) {
		return why
	}
	return ""
}
