package permit

import (
	"context"
	"fmt"
	"strconv"

	"ramet/internal/base/fault"
)

// Inquire puts a question that is the model's own, and not about a call, to the user. It
// takes its turn with the others. DENIED: no person can be asked, or none answered.
func (p *Policy) Inquire(ctx context.Context, q Question) (Verdict, error) {
	if p.Ask == nil {
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
		return v, fault.New(fault.Denied, "nobody answered: %w", err)
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
	return fault.New(fault.InvalidField, "%.40q is no answer to it", v.Choice).WithHint("%s", hint)
}
