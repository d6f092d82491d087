package talk

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

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
