package permit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/core/history"
	"ramet/internal/turn/tool"
)

// maxNamedSources limits the sources of foreign content that a question names.
const maxNamedSources = 3

// sourceReason describes what an agent took in.
func sourceReason(sources []string) string {
	named := strings.Join(sources[:min(len(sources), maxNamedSources)], ", ")
	if more := len(sources) - maxNamedSources; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return "this agent read " + named
}

// asksAgain decides whether a call that one of the rules permits, by, is asked for all the same: it leaves the sandbox
// or reaches the network, and the agent took in foreign content, which may be what wants it. The rule holds for hosts and
// servers that the content came from, and if a person granted one to the agent who was told of it. If no rule permits the
// call, it only notes what the question says.
func (d *decision) asksAgain(ctx context.Context, by, rules []held) (again bool, err error) {
	p, q := d.policy, &d.question
	if d.spec.Access == tool.Writes || p.Log == nil || p.Ignores != nil && p.Ignores() {
		return false, nil
	}
	sources, err := history.ForeignOf(ctx, p.Log, q.Agent)
	if err != nil || len(sources) == 0 {
		return false, err
	}
	d.foreign = sources
	granted, ok := matchHeld(slices.DeleteFunc(slices.Clone(rules), func(r held) bool { return !r.foreign }), q.Tool, q.Subject)
	switch {
	case len(by) == 0 || ok && granted[0].Outside == by[0].Outside:
		return false, nil
	case d.spec.Access == tool.Servers:
		server, _, _ := strings.Cut(d.spec.Name, "__")
		return !slices.Contains(sources, "mcp:"+server), nil
	case d.spec.Access == tool.Fetches || d.spec.Access == tool.Connects:
		host, _ := splitPort(q.Subject)
		return !slices.ContainsFunc(sources, func(s string) bool {
			from, _ := splitPort(s)
			return strings.EqualFold(from, host)
		}), nil
	}
	return true, nil
}

// askAgain makes the question of one about a call that rules permit. What it grants are these rules, once for the agent.
func (d *decision) askAgain(by []held) {
	q := &d.question
	q.Again, q.Rule, q.Outside = true, by[0].Rule, by[0].Outside
	q.Why = fmt.Sprintf("%s: the rule %s asks again", sourceReason(d.foreign), by[0].Rule)
	q.NoRule = "the rule is there, and asks again after an agent read foreign content (setting foreign_content)"
	if len(by) > 1 {
		q.NoGrant, q.Rule = "several rules permit it together", Rule{}
	}
}
