// Package talk has the tools with which a model addresses the person it works for (plan shows its steps and progress,
// ask puts a question) and the tool skill, which reads a skill.
//
// They run without asking. A plan is recorded like every result, and people are shown the list. A question uses the same
// mechanism as permission questions (package permit) on every face; where nobody can be asked, the answer says so at
// once.
//
// A skill or a role only takes tools away. The limits of a role are in the history (registry.Limits) and apply to the
// agent and its subtree; those of a skill apply until the turn ends, and to children forked meanwhile (tool.Limiter). The
// tools to exit, to wait and to read mail are never taken away.
package talk

import (
	"context"
	"encoding/json"

	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

// Person answers questions.
type Person interface {
	// Inquire puts a question of a model, and waits for the answer as long as that takes.
	// DENIED: nobody can be asked, or nobody answered.
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
