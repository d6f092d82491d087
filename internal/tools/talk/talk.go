// Package talk is the tools with which a model speaks to the person it works for, besides what
// it says: plan shows what it means to do and how far it is, ask puts a question.
//
// They run unasked. A plan is an entry like every result, and people are shown the list; the
// model has it in its own call. A question goes through the one model of questions
// (permit/question) on every face; where nobody can be asked, the answer says so at once.
package talk

import (
	"context"
	"encoding/json"

	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

// Person is who is asked.
type Person interface {
	// Inquire puts a question of a model, and waits for the answer as long as that takes.
	// DENIED: nobody can be asked, or nobody answered.
	Inquire(ctx context.Context, q permit.Question) (permit.Verdict, error)
}

// New is the tools.
func New(p Person) tool.Box { return tool.Box{plan{}, ask{p}} }

// decode reads arguments that have the shape of T.
func decode[T any](raw json.RawMessage) (T, error) {
	var args T
	err := json.Unmarshal(raw, &args)
	return args, err
}
