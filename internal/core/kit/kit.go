// Package kit reads what users and projects write in Markdown for their agents, in the formats that
// other programs read too: skills, roles (definitions of sub-agents), commands (prompts with
// arguments) and standing instructions.
//
//	.agents/skills/NAME/SKILL.md     .agents/agents/NAME.md    .agents/commands/**/NAME.md
//	.claude/skills/NAME/SKILL.md     .claude/agents/NAME.md    .claude/commands/**/NAME.md
//
// in a project and in the user's home; those of the user's configuration are next to it, without
// .agents.
//
//   - Of a project only what a person accepted is read, in exactly these bytes (package trust).
//   - Nothing is lost silently. A file that defines nothing, or a folder that cannot be read, is a
//     Flaw with its path and the reason. A definition that another of the same name overrides is
//     Hidden. Unknown fields are ignored.
//   - A definition narrows what an agent may use, and never widens it.
//
// # Instructions
//
// Before a conversation an agent gets the user's AGENTS.md and, from the project's folder down to
// the agent's, the first accepted of AGENTS.override.md, AGENTS.md and CLAUDE.md in each folder.
// Files further below join when a tool first touches a file there. A file can import others with
// @path, five levels deep; each is included once.
//
// All instructions together have at most MostInstructions bytes; the rest is cut, and both the model and a note
// say so. Instructions that joined a conversation are recorded in its history with a memo, so that
// forks and replays have the same, and a conversation that was compacted gets them again.
package kit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ramet/internal/core/history"
	"ramet/internal/core/trust"
	"ramet/internal/model/llm"
)

// Origin locates a definition.
type Origin struct {
	Path    string // below the project, or the user's, absolute
	Dir     string // its folder, absolute: where what it refers to lies
	Project bool
}

// Skill is something that an agent can learn when it needs it.
type Skill struct {
	Origin
	Name          string
	Description   string
	License       string
	Compatibility string
	Allowed       []string // tools that may be used once it was read; nil: all
	Body          string
	Remarks       []string // what is against the format, and used all the same
}

// Role is a definition of an agent.
type Role struct {
	Origin
	Name        string
	Description string
	Tools       []string // nil: all
	Model       string   // vendor/name, inherit, or another program's word for one
	Context     string   // inherit, none; empty: none
	Worktree    bool
	Driver      string          // the program that drives it, and then Model is its word; empty: its parent's
	Effort      llm.Effort      // empty: its parent's
	Budget      *history.Budget // nil: none of its own
	Prompt      string
}

// Command is a prompt with arguments.
type Command struct {
	Origin
	Name        string // with : between the folders it lies in
	Description string
	Hint        string // what its arguments are
	Allowed     []string
	Model       string
	Body        string
}

// Flaw is a file that defines nothing, and why.
type Flaw struct{ Path, Why string }

// Kit is all that is defined, by name; a project's definition stands before the user's of the
// same name.
type Kit struct {
	Skills   []Skill
	Roles    []Role
	Commands []Command
	Flaws    []Flaw
	Hidden   []Flaw   // definitions behind another one of the same name, and which
	Notes    []string // what of the project is not used as it is
}

// The kinds of things that act, for package trust.
const (
	Skills   trust.Kind = "skills"
	Roles    trust.Kind = "agents"
	Commands trust.Kind = "commands"
)

// Bounds of what a project defines.
const (
	mostFile  = 1 << 20
	mostFiles = 5000
)

// Folders of a project, the stronger first.
var Folders = []string{".agents", ".claude"}

// Sources returns the things of a project that act, for trust.
func Sources() []trust.Source {
	var out []trust.Source
	for _, top := range Folders {
		out = append(out,
			trust.Below(Skills, "can be read by agents as instructions, once they ask for it", mostFile, mostFiles, top+"/skills"),
			trust.Below(Roles, "defines an agent: its instructions and its tools", mostFile, mostFiles, top+"/agents"),
			trust.Below(Commands, "is a prompt that you can give by its name", mostFile, mostFiles, top+"/commands"))
	}
	return out
}

// Skill finds a skill.
func (k Kit) Skill(name string) (Skill, bool) {
	return findFirst(k.Skills, func(s Skill) bool { return s.Name == name })
}

// Role finds a role.
func (k Kit) Role(name string) (Role, bool) {
	return findFirst(k.Roles, func(r Role) bool { return r.Name == name })
}

// Command finds a command.
func (k Kit) Command(name string) (Command, bool) {
	return findFirst(k.Commands, func(c Command) bool { return c.Name == name })
}

func findFirst[T any](all []T, is func(T) bool) (out T, ok bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return out, false
}

// keepFirst keeps the first of each name, sorted, and notes which others it hides.
func keepFirst[T any](k *Kit, kind string, all []T, of func(T) (string, Origin)) []T {
	first := map[string]Origin{}
	out := slices.DeleteFunc(all, func(t T) bool {
		name, from := of(t)
		before, known := first[name]
		if !known {
			first[name] = from
			return false
		}
		k.Hidden = append(k.Hidden, Flaw{from.Path, "the " + kind + " " + name + " of " + before.Path + " is used instead"})
		return true
	})
	slices.SortStableFunc(out, func(a, b T) int {
		x, _ := of(a)
		y, _ := of(b)
		return cmp.Compare(x, y)
	})
	return out
}

// parseBudget reads what an agent may spend: dollars (0.50, $0.50), or tokens (200000 tokens, 200k
// tokens); both with a comma between them. Empty: nil.
func parseBudget(said string) (*history.Budget, error) {
	if strings.TrimSpace(said) == "" {
		return nil, nil
	}
	var out history.Budget
	for part := range strings.SplitSeq(said, ",") {
		wrong := fmt.Errorf("budget cannot be %.40q: write dollars such as 0.50, or tokens such as 200k tokens", said)
		amount, isTokens := strings.CutSuffix(strings.ToLower(strings.TrimSpace(part)), "tokens")
		amount = strings.TrimSpace(amount)
		factor := 1.0
		for unit, times := range map[string]float64{"k": 1e3, "m": 1e6} {
			if head, ok := strings.CutSuffix(amount, unit); ok && isTokens {
				amount, factor = head, times
			}
		}
		amount = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(amount, "$"), "usd"))
		n, err := strconv.ParseFloat(strings.ReplaceAll(amount, "_", ""), 64)
		switch most := 1e6; {
		case err != nil || !(n > 0):
			return nil, wrong
		case isTokens && n*factor <= 1e15:
			tokens := int64(math.Round(n * factor))
			out.Tokens = &tokens
		case !isTokens && n <= most:
			nano := int64(math.Round(n * 1e9))
			out.Cost = &nano
		default:
			return nil, wrong
		}
	}
	return &out, nil
}
