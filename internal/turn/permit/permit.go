// Package permit decides whether a tool call may run.
//
// Tools that only read, and those that act on agents, run unasked; but a call that would start
// another program for an agent is asked for, in every mode. A call that
// changes files or runs programs is decided by the mode of its agent, by rules, and
// by a person who is asked.
//
//	bash                  every command
//	bash(go test ./...)   this command line
//	bash(go test *)       commands that fit, word by word
//	bash!(make install)   this command line, outside the sandbox
//	write(docs/**)        files that fit; also edit(…), read(…), …
//	mcp(server)           every tool of an MCP server; mcp(server__tool): one;
//	                      mcp(server__tool@digest): one, as long as it is described as it is
//	fork(claude)          children that this program drives
//	net(example.com)      connections of confined commands to this host, on the ports 80 and 443;
//	                      net(*.example.com): to those below it; net(example.com:8443): on this port
//	fetch(example.com)    pages of this host; *.example.com: of those below it
//
//	ask        files and commands are asked for
//	edits      files are changed unasked, commands are asked for
//	box        files are changed unasked, commands run confined unasked
//	read-only  nothing is changed or run
//
// # Promises
//
//   - A rule means fewer questions, in no mode leaving the sandbox: a command that it
//     permits runs confined. A command runs outside only by bash!(…), or when a person
//     permitted it once or saved such a rule. An answer that makes another rule
//     runs the command as that rule does: confined.
//   - A pattern permits a command line only if it is that very line, or if every
//     simple command of it fits some pattern: also in lists, pipes, groups and
//     subshells. Otherwise a line with a substitution, a redirection to a file, a
//     loop, a function, or anything that the parser is not sure of is permitted by
//     plain bash alone.
//   - A pattern permits no path that leaves the workspace.
//   - What is proposed to be saved is the very command. A wider pattern is proposed
//     only for programs that neither write nor execute anything, whatever their
//     arguments are. Nothing is saved for a call that cannot be undone or read
//     before it runs (mark.go), and the question says why.
//   - A grant for an agent holds for it and those below it until it ends. Whatever
//     cannot be written down is not granted.
//   - Without the sandbox nothing runs unasked that would have needed it. There is
//     no silent fallback: the question, or the refusal, says why.
//   - After an agent took in foreign content, rules that leave the sandbox or reach the
//     network ask again, once for each rule, and the question says why (foreign.go).
//   - Where no person can be asked, the call is refused, and the refusal names the
//     rule that would permit it.
//   - Every decision about a call that changes something comes with its record:
//     who, when, from where, by which rule.
//
// Command lists are no boundary. go test runs any program that the tests hold, and
// git diff runs what a configuration names. Rules save questions about commands that
// the user would permit anyway; what confines a command is the operating system.
package permit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/turn/tool"
)

// Policy decides calls by the user's rules and modes. Its methods are safe for concurrent use;
// the fields are set before.
type Policy struct {
	// Given returns the rules of the command line that an agent works for; nil: none.
	Given func(ctx context.Context, a id.Agent) []Rule
	// Settings are the rules and the mode of the user's settings as they are now: what is taken
	// back there counts for the next call. An error: none of them holds, and the question says
	// why. nil: there are none.
	Settings func() ([]Rule, Mode, error)
	// Mode applies to agents for which neither a person nor the settings chose one; empty: Ask.
	Mode Mode
	// Confinable returns nil if there is a sandbox, else why not. A nil function: there is none.
	Confinable func() error
	// Ask asks the user. nil: no person can be asked.
	Ask Asker
	// Reachable reports whether a person can be asked now about what an agent does; nil: one always can.
	Reachable func(ctx context.Context, a id.Agent) bool
	// Log reads modes and grants of agents. nil: there are none.
	Log Log
	// Ignores reports whether rules permit the same calls after an agent took in foreign content; nil: they ask again.
	Ignores func() bool
	// Book keeps the rules of the project. nil: none can be saved.
	Book Book
	// Acts reports whether a file of this path is one that other programs execute or obey
	// unasked: no mode lets it be written. nil: none is.
	Acts func(path string) bool
	// Warn receives an error that didn't change a decision; nil ignores it.
	Warn func(a id.Agent, what string)
	// Now is the clock; nil: time.Now.
	Now func() time.Time

	mu      sync.Mutex
	granted map[id.Agent][]Grant // by this process, guarded by mu; the log has them a moment later
	asking  questioner
}

// Book is the rules that a person saved for a project.
type Book interface {
	// Rules are all that were saved, also by other processes.
	Rules() ([]Rule, error)
	// Save adds a rule, durably. One that already exists stays.
	Save(ctx context.Context, r Rule) error
}

// Decide permits a call, or refuses it with a DENIED fault whose text the model
// reads. It asks the user where the policy says so. The record says who decided; it
// is nil where there was nothing to decide.
func (p *Policy) Decide(ctx context.Context, s tool.Spec, c tool.Call) (tool.Grant, *history.Permission, error) {
	starts := ""
	if s.Access == tool.Processes && s.Starts != nil {
		starts = s.Starts(c.Args)
	}
	if _, must := tool.Insisted(ctx); !must && starts == "" && (s.Access == tool.Reads || s.Access == tool.Processes) {
		return tool.Free, nil, nil
	}
	q := Question{Agent: c.Agent, CallID: c.ID, Tool: s.Name}
	if s.Subject != nil {
		q.Subject = s.Subject(c.Args)
	}
	q.Summary = summariseCall(s, c.Args, q.Subject)
	if s.Access == tool.Servers {
		q.Tool, q.Subject = servers, s.Name
	}
	q.Whole = fullSubject(s, c.Args, q.Subject)
	if starts != "" {
		q.Tool, q.Subject = forks, starts
	}
	if s.Where != nil {
		q.Where = s.Where(c.Args)
	}
	if s.Outside != nil {
		q.Reason = s.Outside(c.Args)
	}
	one := decision{policy: p, spec: s, question: q}
	decided, err := one.unasked(ctx)
	if decided || err != nil {
		return one.grant, one.record, err
	}
	if !p.canAsk(ctx, q.Agent) {
		return "", one.refuse(history.ByNobody), refuseUnasked(one.question)
	}
	release, err := p.asking.take(ctx, q.Agent)
	if err != nil {
		return "", nil, err
	}
	defer release()
	if s.Preview != nil {
		one.question.Patch = s.Preview(c.Args)
	}
	for {
		changed := p.asking.change()
		// The answer to another question may have settled this one.
		if decided, err = one.unasked(ctx); !decided && err == nil {
			err = one.ask(ctx, changed)
		}
		if !errors.Is(err, errSettled) {
			return one.grant, one.record, err
		}
	}
}

// decision is one on its way.
type decision struct {
	policy   *Policy
	spec     tool.Spec
	question Question
	mode     Mode
	grant    tool.Grant
	record   *history.Permission
	foreign  []string // where the foreign content came from that the agent took in, if the question is to say so
}

// unasked decides by mode and rules; decided is false where a person must.
func (d *decision) unasked(ctx context.Context) (decided bool, err error) {
	p, q := d.policy, &d.question
	standing, err := p.standing(ctx, q.Agent)
	if err != nil {
		return false, err
	}
	d.mode = standing.Mode
	q.Mode, q.Why, q.Outside, q.Again, d.foreign = d.mode, "", false, false, nil
	if d.mode == ReadOnly && d.spec.Access != tool.Fetches {
		d.record = d.refuse(history.ByMode)
		return true, fault.New(fault.Denied, "%s was not permitted: this agent only reads (mode %s)", describeCall(*q), ReadOnly).
			WithHint("look, and write down what you would do; the user can change the mode")
	}
	if why, must := tool.Insisted(ctx); must {
		q.Why, q.NoGrant, q.NoRule, q.Rule = why, "a hook asks each time", "a hook asks each time", Rule{}
		q.Outside = d.mode == Box && d.spec.Access == tool.Commands
		return false, nil
	}
	acts := d.spec.Access == tool.Writes && p.Acts != nil && p.Acts(q.Subject)
	if d.spec.Access == tool.Writes && d.mode != Ask && !acts {
		return d.allow(tool.Free, history.ByMode), nil // file tools cannot leave the workspace
	}
	rules, err := p.rules(standing)
	if err != nil {
		return false, err
	}
	rules, changed := bindRules(rules, d.spec)
	by, permitted := matchHeld(rules, q.Tool, q.Subject)
	if !permitted && d.spec.As != "" {
		by, permitted = matchHeld(rules, d.spec.As, "")
	}
	if !permitted && q.Tool == Network {
		if err := refuseHost(rules, q.Subject); err != nil {
			d.record = d.refuse(history.ByRule)
			return true, err
		}
	}
	leaves := permitted && (d.spec.Access != tool.Commands || by[0].Outside)
	if leaves {
		again, err := d.asksAgain(ctx, by, rules)
		if err != nil {
			return false, err
		}
		if again {
			d.askAgain(by)
			return false, nil
		}
	}
	switch {
	case leaves:
		return d.byRule(tool.Free, by), nil
	case d.spec.Access != tool.Commands:
	case q.Reason != "":
		q.Outside = true
	default:
		missing := p.confinable()
		if missing == nil && permitted {
			return d.byRule(tool.Confine, by), nil
		}
		if missing == nil && d.mode == Box {
			return d.allow(tool.Confine, history.ByMode), nil
		}
		q.Outside = missing != nil // it can only run outside
		if missing != nil && (permitted || d.mode == Box) {
			q.Why = "there is no sandbox to run it in unasked: " + missing.Error()
		}
	}
	if standing.broken != nil && q.Why == "" {
		q.Why = "the settings cannot be read, so nothing of them permits it: " + standing.broken.Error()
	}
	if changed != "" && q.Why == "" {
		q.Why = changed
	}
	if _, err := d.asksAgain(ctx, nil, nil); err != nil {
		return false, err
	}
	if len(d.foreign) > 0 && q.Why == "" {
		q.Why = sourceReason(d.foreign)
	}
	if q.Tool == forks {
		q.Why = "it starts another program, which works by its own rules: " + q.Subject
	}
	if acts {
		q.Why = "other programs execute or obey files of this name unasked"
	}
	if q.Rule, q.NoGrant = proposeRule(q.Tool, q.Subject, d.spec.Digest, q.Outside); q.NoGrant == "" {
		q.NoRule = unsavableReason(q.Tool, q.Subject)
	} else {
		q.NoRule = q.NoGrant
	}
	if p.Book == nil && q.NoRule == "" {
		q.NoRule = "there is no place for rules here"
	}
	return false, nil
}

// errSettled reports that rules decide a question that was open.
var errSettled = errors.New("a rule settled the question")

// ask asks the person and does as they say. errSettled: rules that were made meanwhile decide; changed is closed when
// one is made.
func (d *decision) ask(ctx context.Context, changed <-chan struct{}) error {
	p, q := d.policy, d.question
	asking, settle := context.WithCancelCause(ctx)
	go d.watch(asking, settle, changed)
	v, err := p.Ask.Ask(asking, q)
	settle(nil)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && errors.Is(context.Cause(asking), errSettled):
		return errSettled
	case err != nil:
		d.record = d.refuse(history.ByNobody)
		return fault.New(fault.Denied, "%s was not permitted: the user could not be asked: %w", describeCall(q), err)
	}
	if err := q.Check(v); err != nil {
		v = Verdict{Choice: Refuse, Words: "the answer was not understood: " + err.Error(), By: v.By}
	}
	rule, grant := q.Rule, tool.Free
	if v.Choice == ForProject && v.Rule != "" {
		rule, _ = Parse(v.Rule) // Check has read it
	}
	if (v.Choice == ForProject || v.Choice == ForAgent) && d.spec.Access == tool.Commands && !rule.Outside {
		grant = tool.Confine // as the rule does
	}
	if v.Choice == ForProject {
		if err := p.Book.Save(ctx, rule); err != nil {
			v.Choice = Once
			if p.Warn != nil {
				p.Warn(q.Agent, "the call is permitted once; the rule could not be saved: "+err.Error())
			}
		}
	}
	d.record = d.refuse(history.ByPerson)
	d.record.Choice, d.record.Actor, d.record.Foreign = string(v.Choice), v.actor(), len(d.foreign) > 0
	switch v.Choice {
	case ForAgent:
		d.record.Rule, d.record.From = rule.String(), string(q.Agent)
		p.mu.Lock()
		if p.granted == nil {
			p.granted = map[id.Agent][]Grant{}
		}
		p.granted[q.Agent] = append(p.granted[q.Agent], Grant{Rule: rule, To: q.Agent, By: v.actor(), foreign: d.record.Foreign})
		p.mu.Unlock()
		p.asking.announce()
	case ForProject:
		d.record.Rule, d.record.From = rule.String(), fromProject
		p.asking.announce()
	case Once:
	default:
		d.record.Choice = string(Refuse)
		if strings.TrimSpace(v.Words) != "" {
			return fault.New(fault.Denied, "the user did not permit %s and says: %s", describeCall(q), v.Words)
		}
		return fault.New(fault.Denied, "the user did not permit %s", describeCall(q)).
			WithHint("do not try it in another way; continue without it, or ask what to do instead")
	}
	d.grant, d.record.Answer, d.record.Confined = grant, history.Allowed, grant == tool.Confine
	return nil
}

// allow settles a call without a rule.
func (d *decision) allow(g tool.Grant, by string) bool {
	d.record = d.refuse(by)
	d.grant, d.record.Answer, d.record.Confined = g, history.Allowed, g == tool.Confine
	return true
}

// byRule settles it with rules.
func (d *decision) byRule(g tool.Grant, by []held) bool {
	d.allow(g, history.ByRule)
	texts := make([]string, len(by))
	for i, r := range by {
		texts[i] = r.String()
	}
	d.record.Rule, d.record.From, d.record.Actor = strings.Join(texts, "; "), by[0].from, by[0].by
	return true
}

// refuse returns the record of a refusal.
func (d *decision) refuse(by string) *history.Permission {
	now := time.Now
	if d.policy.Now != nil {
		now = d.policy.Now
	}
	return &history.Permission{Answer: history.Refused, By: by, Mode: string(d.mode), At: history.Moment(now())}
}

// canAsk reports whether a person can be asked about what an agent does.
func (p *Policy) canAsk(ctx context.Context, a id.Agent) bool {
	return p.Ask != nil && (p.Reachable == nil || p.Reachable(ctx, a))
}

func (p *Policy) confinable() error {
	if p.Confinable == nil {
		return fault.New(fault.Denied, "this system has none that ramet knows")
	}
	return p.Confinable()
}

// refuseUnasked returns the refusal for a turn without a person.
func refuseUnasked(q Question) error {
	f := fault.New(fault.Denied, "%s was not permitted: no rule permits it, and no person can be asked", describeCall(q))
	switch {
	case q.Again:
		return fault.New(fault.Denied, "%s was not permitted: %s; and no person can be asked", describeCall(q), q.Why).
			WithHint("the user can answer where a person is asked, or let rules hold with the setting foreign_content")
	case q.Why != "":
		f = fault.New(fault.Denied, "%s was not permitted: %s; and no person can be asked", describeCall(q), q.Why)
	case q.Outside:
		f = fault.New(fault.Denied, "%s was not permitted outside the box, and no person can be asked", describeCall(q))
	}
	if !slices.Contains(toolNames(), q.Tool) {
		return f.WithHint("no rule can permit this tool; it needs a user who can be asked")
	}
	if q.NoGrant != "" && q.Outside {
		return f.WithHint("%s; it needs a user who can be asked", q.NoGrant)
	}
	if q.NoGrant != "" {
		return f.WithHint("only --allow %s would permit it, which permits every call of that tool: %s", q.Tool, q.NoGrant)
	}
	return f.WithHint("the user can permit it with --allow '%s'", strings.ReplaceAll(q.Rule.String(), "'", `'\''`))
}

// describeCall returns a call in one line.
func describeCall(q Question) string {
	switch {
	case q.Summary == "":
		return q.Tool
	case q.Tool == Network:
		return "network to " + q.Subject
	}
	return q.Tool + " (" + q.Summary + ")"
}

// fullSubject returns what a call would do, to its last argument, where its subject does not say it: that of a server's
// tool is its name, that of a page its host.
func fullSubject(s tool.Spec, args json.RawMessage, subject string) string {
	if s.Access != tool.Servers && s.Access != tool.Fetches && subject != "" {
		return ""
	}
	var b bytes.Buffer
	if json.Indent(&b, args, "", "  ") != nil {
		b.Reset()
		b.Write(args)
	}
	if bare := strings.TrimSpace(b.String()); (bare == "" || bare == "{}" || bare == "null") && s.Summary != nil {
		return s.Summary(args) // of another program it may be all that is known
	}
	return s.Name + " " + b.String()
}

func summariseCall(s tool.Spec, args json.RawMessage, subject string) string {
	const width = 200
	if s.Summary != nil {
		return text.Line(s.Summary(args), width)
	}
	if subject != "" {
		return text.Line(subject, width)
	}
	return text.Line(string(args), width)
}

// watch ends a question when a rule settles it that was made for another one.
func (d *decision) watch(asking context.Context, settle context.CancelCauseFunc, changed <-chan struct{}) {
	for {
		select {
		case <-asking.Done():
			return
		case <-changed:
		}
		changed = d.policy.asking.change()
		again := *d
		if decided, _ := again.unasked(asking); decided {
			settle(errSettled)
			return
		}
	}
}

// questioner lets each agent have one open question at a time, and reports when rules are made.
type questioner struct {
	mu      sync.Mutex
	turns   map[id.Agent]chan struct{} // guarded by mu
	changed chan struct{}              // guarded by mu; closed by announce
}

// take waits until no other question of the agent is open.
func (q *questioner) take(ctx context.Context, a id.Agent) (release func(), err error) {
	q.mu.Lock()
	if q.turns == nil {
		q.turns = map[id.Agent]chan struct{}{}
	}
	turn := q.turns[a]
	if turn == nil {
		turn = make(chan struct{}, 1)
		q.turns[a] = turn
	}
	q.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// change returns a channel that is closed when the next rule is made.
func (q *questioner) change() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.changed == nil {
		q.changed = make(chan struct{})
	}
	return q.changed
}

// announce wakes all open questions after a rule was made.
func (q *questioner) announce() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}
