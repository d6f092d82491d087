package permit

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// Asker asks the user about calls.
type Asker interface {
	// Ask takes as long as the user takes, or until ctx ends. It is called by one
	// goroutine at a time. An error is a refusal.
	Ask(ctx context.Context, q Question) (Verdict, error)
}

// Question is a question to the user.
type Question struct {
	Agent   id.Agent
	CallID  string // the model's name for the call
	Tool    string
	Summary string // one line: what would be done
	Subject string // the whole command line, or the path; may hold anything
	Whole   string // all that the call would do, where the subject is not; may hold anything
	Patch   string // all that would change in a file; empty: nothing, or it is unknown
	Mode    Mode   // of the agent
	Outside bool   // it would run outside the box that the mode puts commands into
	Where   string // in which folder it would run, and whether in the background; empty: in the agent's own, and waited for
	Reason  string // the model's, why it should
	Why     string // why it is asked, if not only because no rule permits it
	Again   bool   // a rule permits it, and asks again because of what the agent read
	// Says is a question of the model's own, and Choices the answers that it proposes; then no
	// call is asked about, and the rest is empty.
	Says    string
	Choices []string
	// Rule would be in a grant for the agent, or saved for the
	// project; the zero one where nothing can be.
	Rule    Rule
	NoGrant string // why nothing can be granted but this one call; empty: something can
	NoRule  string // why nothing can be saved; empty: something can
}

// BeforeCall reports whether the question decides if a call begins. Others are asked while a call runs: the model's own,
// and those about the network.
func (q Question) BeforeCall() bool { return q.Says == "" && q.Tool != Network }

// Does returns all that a person must have seen who permits the call.
func (q Question) Does() string {
	if q.Whole != "" {
		return q.Whole
	}
	return q.Subject
}

// Choice is an answer.
type Choice string

// The choices. Anything else is a refusal.
const (
	Refuse     Choice = "no"
	Because    Choice = "because" // no, with words for the model
	Once       Choice = "once"
	ForAgent   Choice = "agent"   // and for those below it, until it ends
	ForProject Choice = "project" // a rule is saved
)

// Verdict is the user's answer.
type Verdict struct {
	Choice Choice
	Words  string        // with a refusal: for the model
	Rule   string        // for the project: as the person edited it; empty: as proposed
	By     history.Actor // who answers, and from where
}

func (v Verdict) actor() *history.Actor {
	if v.By == (history.Actor{}) {
		return nil
	}
	return &v.By
}

// Option is a choice as every face offers it.
type Option struct {
	Choice Choice `json:"choice"`
	Text   string `json:"text"`
	Rule   string `json:"rule,omitempty"` // what it would grant or save
	No     string `json:"no,omitempty"`   // why it cannot be chosen; empty: it can
}

// Options returns the choices, in the order of all faces: no first.
func (q Question) Options() []Option {
	if q.Says != "" {
		// The first is as harmless as a no.
		out := []Option{{Choice: Refuse, Text: "no answer: it decides itself"}, {Choice: Because, Text: "in other words \u2026"}}
		for i, c := range q.Choices {
			out = append(out, Option{Choice: Choice(strconv.Itoa(i + 1)), Text: c})
		}
		return out
	}
	rule := ""
	if q.Rule != (Rule{}) {
		rule = q.Rule.String()
	}
	agent := Option{Choice: ForAgent, Text: "Allow for this agent and its children", Rule: rule, No: q.NoGrant}
	project := Option{Choice: ForProject, Text: "Always allow in this project…", Rule: rule, No: q.NoRule}
	for _, o := range []*Option{&agent, &project} {
		if o.No != "" {
			o.Rule = ""
		}
	}
	return []Option{{Choice: Refuse, Text: "No"}, {Choice: Because, Text: "No, because \u2026"}, {Choice: Once, Text: "Allow once"}, agent, project}
}

// maxWords bounds what a person tells the model with a refusal.
const maxWords = 4 << 10

// Check refuses an answer that the question does not offer; then it still waits.
func (q Question) Check(v Verdict) error {
	if v.Words != "" {
		if err := fault.CheckText(fault.InvalidText, "the words", v.Words, maxWords); err != nil {
			return err
		}
	}
	if v.Rule != "" && v.Choice != ForProject {
		return fault.New(fault.InvalidField, "a rule goes with the answer project, not with %q", v.Choice)
	}
	if q.Says != "" {
		return q.checkAnswer(v)
	}
	switch v.Choice {
	case Refuse, Once:
		return nil
	case Because:
		if v.Words == "" {
			return fault.New(fault.InvalidField, "the answer because needs words")
		}
		return nil
	case ForAgent:
		if q.NoGrant != "" {
			return fault.New(fault.InvalidField, "nothing but this one call can be permitted: %s", q.NoGrant).WithHint("answer once or no")
		}
		return nil
	case ForProject:
		r := q.Rule
		if v.Rule != "" {
			var err error
			if r, err = Parse(v.Rule); err != nil {
				return err
			}
		}
		return q.CheckSaved(r)
	}
	return fault.New(fault.InvalidField, "%.40q is not an answer", v.Choice).WithHint("answer no, because, once, agent or project")
}

// Inquire puts a question that is the model's own, and not about a call, to the user. It
// takes its turn with the others. DENIED: no person can be asked, or none answered.
func (p *Policy) Inquire(ctx context.Context, q Question) (Verdict, error) {
	if !p.canAsk(ctx, q.Agent) {
		return Verdict{}, fault.New(fault.Denied, "no person can be asked")
	}
	release, err := p.asking.take(ctx, q.Agent)
	if err != nil {
		return Verdict{}, err
	}
	defer release()
	v, err := p.Ask.Ask(ctx, q)
	switch {
	case ctx.Err() != nil:
		return v, ctx.Err()
	case err != nil:
		return v, fault.New(fault.Denied, "no person answered: %w", err)
	}
	if q.Check(v) != nil {
		v = Verdict{Choice: Refuse, By: v.By}
	}
	return v, nil
}

// Chosen returns the text of a choice that the model proposed.
func (q Question) Chosen(c Choice) (string, bool) {
	n, err := strconv.Atoi(string(c))
	if err != nil || n < 1 || n > len(q.Choices) || strconv.Itoa(n) != string(c) {
		return "", false
	}
	return q.Choices[n-1], true
}

// checkAnswer refuses what a question of the model's own does not offer.
func (q Question) checkAnswer(v Verdict) error {
	if _, ok := q.Chosen(v.Choice); ok || v.Choice == Refuse {
		return nil
	}
	if v.Choice == Because {
		if v.Words == "" {
			return fault.New(fault.InvalidField, "the answer because needs words")
		}
		return nil
	}
	hint := "answer no, or because with words"
	if n := len(q.Choices); n > 0 {
		hint = fmt.Sprintf("answer 1 to %d, no, or because with words", n)
	}
	return fault.New(fault.InvalidField, "%.40q is not an answer to it", v.Choice).WithHint("%s", hint)
}

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
	case tool == Network:
		return checkWritable(hostRule(subject), subject)
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
	if found := markCommandLine(subject); len(found) > 0 {
		return "it is destructive or unpredictable: " + strings.Join(found, ", ")
	}
	return ""
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
	plain := strings.NewReplacer(`\`, "", "*", "x").Replace(r.Pattern) // as if it were a command
	if found := markCommandLine(plain); len(found) > 0 {
		return refuse("%s", strings.Join(found, ", "))
	}
	return nil
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
