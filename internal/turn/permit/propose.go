package permit

import (
	"io/fs"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/fault"
)

// harmless programs neither write nor execute anything, whatever their arguments are:
// the one case where a pattern wider than the command is proposed.
var harmlessPrograms = strings.Fields("basename cat cmp comm cut df dirname du echo grep head ls md5sum nl od pwd readlink realpath sha1sum sha256sum sha512sum stat tail tr wc")

// proposeRule returns the rule that would permit a call again, and hardly anything else, or why
// there is none. A rule for a tool of a server is bound to its digest; outside asks for a rule
// that leaves the box.
func proposeRule(tool, subject, digest string, outside bool) (Rule, string) {
	switch {
	case !slices.Contains(toolNames(), tool):
		return Rule{}, "no rule can permit this tool"
	case tool == servers && digest != "":
		return checkWritable(Rule{Tool: servers, Pattern: subject + "@" + digest}, subject)
	case tool == servers:
		return checkWritable(Rule{Tool: servers, Pattern: subject}, subject)
	case tool != shell && (!fs.ValidPath(subject) || subject == "."):
		return Rule{}, "the path leaves the workspace, or is none"
	case tool != shell:
		return checkWritable(Rule{Tool: tool, Pattern: escapePattern(subject, `\*?[]{}()`)}, subject)
	case strings.ContainsAny(subject, "\n\r"):
		return Rule{}, "the command has several lines, and a rule is one line"
	case len(exactPattern(subject)) > maxPattern:
		return Rule{}, "the command is too long for a rule"
	}
	if commands, ok := takeApart(subject); ok && !outside && len(commands) == 1 {
		if words := commands[0]; !words[0].assign && !words[0].open && slices.Contains(harmlessPrograms, words[0].text) {
			return checkWritable(Rule{Tool: shell, Pattern: words[0].text + " *"}, subject)
		}
	}
	return checkWritable(Rule{Tool: shell, Pattern: exactPattern(subject), Outside: outside}, subject)
}

// checkWritable gives back only a rule that can be written down and does permit the call.
func checkWritable(r Rule, subject string) (Rule, string) {
	if again, err := Parse(r.String()); err == nil && again == r && Permits([]Rule{r}, r.Tool, subject) {
		return r, ""
	}
	commands, _ := takeApart(subject)
	for _, words := range commands {
		if r.Tool == shell && slices.ContainsFunc(words, func(w word) bool { return w.open }) {
			return Rule{}, "it has file patterns, which are known only when it runs"
		}
	}
	return Rule{}, "it has characters that no rule can contain"
}

// unsavableReason returns why no rule is saved for a call at all; empty: one may be.
func unsavableReason(tool, subject string) string {
	if tool != shell {
		return ""
	}
	found := markCommandLine(subject)
	if len(found) == 0 {
		return ""
	}
	return "it is destructive or unpredictable: " + strings.Join(found, ", ")
}

// samples are commands that no rule may be saved for. A rule that a person wrote wider
// must not permit any of them.
var samples = sync.OnceValue(func() []string {
	return strings.Split(`rm -rf x|rm -r x|rm x -rf|rm -f x|sudo x|su -c x|doas x|git push|git push origin main|git push --force|git push -f|git -C x push|git reset --hard|git clean -fd|git checkout -- .|
git branch -D x|npm publish|npm run publish|yarn publish|pnpm publish|cargo publish|twine upload x|gem push x|docker push x|docker run --privileged x|docker system prune|make publish|make deploy|just release|
gh pr merge|gh release create x|gh api -X DELETE x|kubectl delete x|terraform apply|helm uninstall x|find . -delete|find . -exec rm -rf {} +|xargs rm -rf|env rm -rf x|sh -c "rm -rf x"|bash -c "git push"|eval rm -rf x|
python3 -c "import shutil; shutil.rmtree('x')"|curl -X POST x|rsync --delete a b|dd of=x|mv -f a b|cp -f a b|ln -sf a b|nohup rm -rf x|timeout 5 rm -rf x|aws s3 rm x|poetry publish|uv publish`, "|")
})

// CheckSaved reports whether a person may save a rule for a call: it must permit the call,
// and nothing that no rule is saved for.
func (q Question) CheckSaved(r Rule) error {
	refuse := func(why string, args ...any) error {
		return fault.New(fault.InvalidField, "rule %.80q is not saved: "+why, append([]any{r.String()}, args...)...).
			WithHint("save it for the very command, or permit it once")
	}
	switch {
	case q.NoRule != "":
		return refuse("%s", q.NoRule)
	case !Permits([]Rule{r}, q.Tool, q.Subject):
		return refuse("it does not permit this call")
	case q.Tool == servers && strings.Contains(q.Rule.Pattern, "@") && r != q.Rule:
		return refuse("a rule for a tool of a server is bound to its description: write %s", q.Rule)
	case q.Outside && !r.Outside:
		return refuse("it would not let the command out of the box: write bash!(COMMAND)")
	case r.Tool != shell || !r.Outside && r.Pattern == exactPattern(q.Subject) || r.Outside:
		return nil
	}
	for _, line := range samples() {
		if line = strings.TrimSpace(line); Permits([]Rule{r}, shell, line) {
			return refuse("it would also permit %q", line)
		}
	}
	if found := markCommandLine(plainWords(r.Pattern)); len(found) > 0 {
		return refuse("%s", strings.Join(found, ", "))
	}
	return nil
}

// plainWords returns a pattern as if it were a command.
func plainWords(pattern string) string {
	return strings.NewReplacer(`\`, "", "*", "x").Replace(pattern)
}

func escapePattern(s, special string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
