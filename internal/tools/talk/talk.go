// Package talk has the tools with which a model addresses the person it works for (plan shows its steps and progress,
// ask puts a question) and the tool skill, which reads a skill.
//
// They run without asking. A plan is recorded like every result, and people are shown the list. A question uses the same
// mechanism as permission questions (package permit) on every face; where no person can be asked, the answer says so at
// once.
//
// A skill or a role only takes tools away. The limits of a role are in the history (registry.Limits) and apply to the
// agent and its subtree; those of a skill apply until the turn ends, and to children forked meanwhile (tool.Limiter). The
// tools to exit, to wait and to read mail are never taken away.
package talk

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/core/kit"
	"ramet/internal/core/toolinfo"
	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

// Person answers questions.
type Person interface {
	// Inquire puts a question of a model, and waits for the answer as long as that takes.
	// DENIED: no person can be asked, or no person answered.
	Inquire(ctx context.Context, q permit.Question) (permit.Verdict, error)
}

// New returns the tools.
func New(p Person) tool.Box { return tool.Box{plan{}, ask{p}} }

// decodeArguments reads arguments that have the shape of T.
func decodeArguments[T any](raw json.RawMessage) (T, error) {
	var args T
	err := json.Unmarshal(raw, &args)
	return args, err
}

// Roles tells a model which agents are defined, in at most so many bytes; empty: none is.
func Roles(roles []kit.Role, most int) string {
	if len(roles) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Agents that `fork` can make by their definitions (agent: NAME).\n")
	for _, r := range roles {
		b.WriteString("- " + r.Name + ": " + text.Line(r.Description, 300) + "\n")
	}
	return clipLines(b.String(), most)
}

var planSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("plan", tool.Spec{
		Args: shape.Object(shape.Must("steps", shape.List(shape.Object(
			shape.Must("step", shape.Text(1)),
			shape.Must("state", shape.Enum(tool.StepOpen, tool.StepDoing, tool.StepDone, tool.StepDropped)),
		)))),
		Summary: func(raw json.RawMessage) string {
			args, err := decodeArguments[tool.Plan](raw)
			if err != nil {
				return text.Line(string(raw), 120)
			}
			return args.Progress()
		},
	})
})

// plan is the tool that shows people what the agent intends to do.
type plan struct{}

func (plan) Spec() tool.Spec { return planSpec() }

// Run implements tool.Tool.
func (plan) Run(_ context.Context, c tool.Call) (tool.Answer, error) {
	args, err := decodeArguments[tool.Plan](c.Args)
	switch {
	case err != nil:
		return tool.Failed("The arguments are not readable: " + err.Error()), nil
	case len(args.Steps) == 0:
		return tool.Failed("A plan has steps."), nil
	case len(args.Steps) > tool.MaxPlanSteps:
		return tool.Failed(fmt.Sprintf("A plan has at most %d steps; this one has %d.", tool.MaxPlanSteps, len(args.Steps))), nil
	}
	return args.Answer(), nil
}

// mostChoices limits how many answers a model may propose.
const mostChoices = 4

type askArgs struct {
	Question string
	Choices  []string
}

var askSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("ask", tool.Spec{
		Args: shape.Object(
			shape.Must("question", shape.Text(1)),
			shape.May("choices", shape.List(shape.Text(1))),
		),
		Summary: func(raw json.RawMessage) string {
			args, err := decodeArguments[askArgs](raw)
			if err != nil {
				return text.Line(string(raw), 120)
			}
			return text.Line(args.Question, 200)
		},
	})
})

// ask is the tool that puts a question to the user.
type ask struct{ person Person }

func (ask) Spec() tool.Spec { return askSpec() }

// Run implements tool.Tool.
func (a ask) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	args, err := decodeArguments[askArgs](c.Args)
	if err != nil {
		return tool.Failed("The arguments are not readable: " + err.Error()), nil
	}
	if len(args.Choices) > mostChoices {
		return tool.Failed(fmt.Sprintf("At most %d choices; there is always a place for other words. No question was asked.", mostChoices)), nil
	}
	q := permit.Question{Agent: c.Agent, CallID: c.ID, Tool: askSpec().Name, Summary: text.Line(args.Question, 200),
		Says: text.Safe(args.Question), Choices: make([]string, len(args.Choices))}
	for i, choice := range args.Choices {
		q.Choices[i] = text.Line(choice, 200)
	}
	v, err := a.person.Inquire(ctx, q)
	switch {
	case ctx.Err() != nil:
		return tool.Answer{}, ctx.Err()
	case fault.Is(err, fault.Denied):
		return tool.Answer{Text: "No person is here to answer. Decide yourself, take the careful way, and say in your last words what you assumed."}, nil
	case err != nil:
		return tool.Answer{}, err
	}
	answer := tool.Answer{Text: "The user gave no answer: decide yourself, and say what you assumed."}
	if chosen, ok := q.Chosen(v.Choice); ok {
		answer.Text = "The user chose: " + chosen
	} else if v.Words != "" {
		answer.Text = "The user says: " + v.Words
	}
	if v.By.Who != "" || v.By.Face != "" {
		answer.By = &v.By
	}
	return answer, nil
}

// allowed are tools by their names, some of them only for what rules fit.
type allowed struct {
	given []string
	names map[string]bool
	rules map[string][]permit.Rule // of tools that are in names
	all   bool
}

// parseAllowed reads a list of tools. An unknown name allows nothing.
func parseAllowed(list []string) *allowed {
	a := &allowed{given: list, names: map[string]bool{}, rules: map[string][]permit.Rule{}}
	whole := map[string]bool{}
	for _, one := range list {
		name, pattern, patterned := strings.Cut(one, "(")
		if one == "*" {
			a.all = true
		}
		name = ownName(name)
		if !patterned || strings.Trim(pattern, "*)") == "" {
			a.names[name], whole[name] = true, true
			continue
		}
		pattern = strings.TrimSuffix(pattern, ")")
		if head, ok := strings.CutSuffix(pattern, ":*"); ok {
			pattern = head + " *"
		}
		if r, err := permit.Parse(name + "(" + pattern + ")"); err == nil {
			a.names[name] = true
			a.rules[name] = append(a.rules[name], r)
		}
	}
	for name := range whole {
		delete(a.rules, name)
	}
	return a
}

// ownName returns a tool's name here.
func ownName(name string) string {
	name = strings.TrimSpace(name)
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		return rest
	}
	if known := toolinfo.FindForeign(name); known != nil {
		return known.Name
	}
	return name
}

// isRemovable reports whether a list can take a tool away.
func isRemovable(name string) bool {
	info := toolinfo.Find(name)
	return info == nil || info.Removable
}

func (a *allowed) String() string {
	if len(a.given) == 0 {
		return "none"
	}
	return strings.Join(a.given, ", ")
}

// leave returns what is left of a tool; nil: nothing.
func (a *allowed) leave(t tool.Tool) tool.Tool {
	name := tool.NameOf(t)
	server, _, isServers := strings.Cut(name, "__")
	switch {
	case a.all || !isRemovable(name):
		return t
	case isServers && a.names[server]: // all of one server
		return t
	case !a.names[name]:
		return nil
	case len(a.rules[name]) == 0:
		return tool.Tell(t)
	}
	return limited{t, a.rules[name]}
}

// limited is a tool for what rules fit.
type limited struct {
	tool.Tool
	rules []permit.Rule
}

func (l limited) permits(args json.RawMessage) bool {
	s := l.Spec()
	return s.Subject != nil && permit.Permits(l.rules, s.Name, s.Subject(args))
}

func (l limited) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	if !l.permits(c.Args) {
		var said []string
		for _, r := range l.rules {
			said = append(said, r.String())
		}
		return tool.Failed("Nothing was done: what you follow allows only " + strings.Join(said, ", ") + "."), nil
	}
	return l.Tool.Run(ctx, c)
}

// Allows reports whether a list leaves this call of a tool.
func Allows(list []string, spec tool.Spec, args json.RawMessage) bool {
	switch left := parseAllowed(list).leave(specified{spec}).(type) {
	case nil:
		return false
	case limited:
		return left.permits(args)
	}
	return true
}

// specified is a tool of which nothing but its specification is known.
type specified struct{ spec tool.Spec }

func (s specified) Spec() tool.Spec { return s.spec }

func (specified) Run(context.Context, tool.Call) (tool.Answer, error) {
	return tool.Failed("Nothing was done."), nil
}

// Words returns a list of tools in our own words, with what some are limited to; nil: all.
func Words(list []string) []string {
	if list == nil || slices.Contains(list, "*") {
		return nil
	}
	a := parseAllowed(list)
	out := []string{}
	for _, name := range slices.Sorted(maps.Keys(a.names)) {
		if len(a.rules[name]) == 0 {
			out = append(out, name)
		}
		for _, r := range a.rules[name] {
			out = append(out, r.String())
		}
	}
	return out
}
