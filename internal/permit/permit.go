// Package permit decides whether a tool call may run.
//
// Tools that only read, and those that act on agents, run unasked. A call that
// changes files or runs programs runs when a rule permits it, else as the policy
// says: inside the sandbox, or after the user was asked.
//
//	bash                  every command
//	bash(go test *)       commands that fit, word by word
//	write(docs/**)        files that fit; also edit(…), read(…), …
//
// # Promises
//
//   - A pattern permits a command line only if every simple command of it fits
//     some pattern: also in lists, pipes, groups and subshells. A line with a
//     substitution, a redirection to a file, a loop, a function, or anything
//     that the parser is not sure of is permitted by plain bash alone.
//   - A pattern permits no path that leaves the workspace.
//   - Without the sandbox nothing runs unasked that would have needed it. There is
//     no silent fallback: the question, or the refusal, says why.
//   - Where nobody can be asked, the call is refused, and the refusal names the
//     rule that would permit it.
//
// Command lists are no boundary. go test runs any program that the tests hold, and
// git diff runs what a configuration names. Rules save questions about commands that
// the user would permit anyway; what confines a command is the operating system.
package permit

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/text"
	"ramet/internal/tool"
)

// Policy is what the user permits. Its methods are safe for concurrent use;
// the fields are set before.
type Policy struct {
	Rules []Rule
	// Unasked lets calls that no rule permits run without a question: commands
	// only inside the sandbox.
	Unasked bool
	// Confinable says whether there is a sandbox, or why not. nil: there is none.
	Confinable func() error
	// Ask asks the user. nil: nobody can be asked.
	Ask Asker

	mu      sync.Mutex
	learned []Rule     // guarded by mu
	asking  questioner // one question at a time
}

// Asker asks the user about calls.
type Asker interface {
	// Ask takes as long as the user takes, or until ctx ends. It is called by one
	// goroutine at a time. An error is a refusal.
	Ask(ctx context.Context, q Question) (Verdict, error)
}

// Question is what the user is asked.
type Question struct {
	Agent   id.Agent
	Tool    string
	Summary string // one line: what would be done
	Subject string // the whole command line, or the path; may hold anything
	// Suggestion are the rules that Always would add; none where no narrow one
	// would permit the call, and then Always is Once.
	Suggestion []Rule
	Why        string // why it is asked, if not only because no rule permits it
}

// Choice is an answer.
type Choice string

// The choices. Anything else is a refusal.
const (
	Once   Choice = "once"
	Always Choice = "always" // and the suggested rules hold until the process ends
	Refuse Choice = "refuse"
)

// Verdict is the user's answer, with words for the model if it is a refusal.
type Verdict struct {
	Choice Choice
	Words  string
}

// Decide permits a call, or refuses it with a DENIED fault whose text the model
// reads. It asks the user where the policy says so.
func (p *Policy) Decide(ctx context.Context, s tool.Spec, c tool.Call) (tool.Grant, error) {
	if s.Access == tool.Reads || s.Access == tool.Processes {
		return tool.Free, nil
	}
	var subject string
	if s.Subject != nil {
		subject = s.Subject(c.Args)
	}
	if permits(p.rules(), s.Name, subject) {
		return tool.Free, nil
	}
	var why string
	if p.Unasked {
		if s.Access == tool.Writes {
			return tool.Free, nil // file tools cannot leave the workspace
		}
		err := p.confinable()
		if err == nil {
			return tool.Confine, nil
		}
		why = "there is no sandbox to run it in unasked: " + err.Error()
	}
	q := Question{Agent: c.Agent, Tool: s.Name, Summary: summary(s, c.Args, subject), Subject: subject, Why: why}
	if p.Ask == nil {
		q.Suggestion = suggest(p.rules(), s.Name, subject)
		return "", unasked(q)
	}
	return p.ask(ctx, q)
}

func (p *Policy) ask(ctx context.Context, q Question) (tool.Grant, error) {
	release, err := p.asking.take(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	// The answer to the question before may have been Always.
	rules := p.rules()
	if permits(rules, q.Tool, q.Subject) {
		return tool.Free, nil
	}
	q.Suggestion = suggest(rules, q.Tool, q.Subject)
	v, err := p.Ask.Ask(ctx, q)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fault.New(fault.Denied, "%s was not permitted: the user could not be asked: %w", what(q), err)
	case v.Choice == Always:
		p.mu.Lock()
		p.learned = append(p.learned, q.Suggestion...)
		p.mu.Unlock()
		return tool.Free, nil
	case v.Choice == Once:
		return tool.Free, nil
	case strings.TrimSpace(v.Words) != "":
		return "", fault.New(fault.Denied, "the user did not permit %s and says: %s", what(q), v.Words)
	}
	return "", fault.New(fault.Denied, "the user did not permit %s", what(q)).
		WithHint("do not try it in another way; go on without it, or ask what to do instead")
}

// rules are those of the policy and those that the user added.
func (p *Policy) rules() []Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Concat(p.Rules, p.learned)
}

func (p *Policy) confinable() error {
	if p.Confinable == nil {
		return fault.New(fault.Denied, "this system has none that ramet knows")
	}
	return p.Confinable()
}

// unasked is the refusal where nobody can be asked.
func unasked(q Question) error {
	f := fault.New(fault.Denied, "%s was not permitted: no rule permits it, and nobody can be asked", what(q))
	if q.Why != "" {
		f = fault.New(fault.Denied, "%s was not permitted: %s; and nobody can be asked", what(q), q.Why)
	}
	if !slices.Contains(tools, q.Tool) {
		return f.WithHint("no rule can permit this tool; it needs a user who can be asked")
	}
	if len(q.Suggestion) == 0 {
		return f.WithHint("only --allow %s would permit it, which permits every call of that tool", q.Tool)
	}
	var flags []string
	for _, r := range q.Suggestion {
		flags = append(flags, "--allow '"+strings.ReplaceAll(r.String(), "'", `'\''`)+"'")
	}
	return f.WithHint("the user can permit it with %s", strings.Join(flags, " "))
}

// what is a call in one line.
func what(q Question) string {
	if q.Summary == "" {
		return q.Tool
	}
	return q.Tool + " (" + q.Summary + ")"
}

func summary(s tool.Spec, args json.RawMessage, subject string) string {
	const width = 200
	if s.Summary != nil {
		return text.Line(s.Summary(args), width)
	}
	if subject != "" {
		return text.Line(subject, width)
	}
	return text.Line(string(args), width)
}

// questioner lets one at a time ask, and gives up waiting when ctx ends.
type questioner struct {
	once sync.Once
	turn chan struct{}
}

func (q *questioner) take(ctx context.Context) (release func(), err error) {
	q.once.Do(func() { q.turn = make(chan struct{}, 1) })
	select {
	case q.turn <- struct{}{}:
		return func() { <-q.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
