package permit

import (
	"context"
	"fmt"
	"strconv"

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
		return q.answers()
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
	release, err := p.asking.take(ctx)
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

// answers returns the options of a question of the model's own. The first is as harmless as a no.
func (q Question) answers() []Option {
	out := []Option{{Choice: Refuse, Text: "no answer: it decides itself"}, {Choice: Because, Text: "in other words \u2026"}}
	for i, c := range q.Choices {
		out = append(out, Option{Choice: Choice(strconv.Itoa(i + 1)), Text: c})
	}
	return out
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
