package operation

import (
	"context"

	"ramet/internal/core/history"
	"ramet/internal/operation/public"
)

// MessageKind is a kind of message that a person may write.
type MessageKind string

// Words implements Words.
func (MessageKind) Words() []string {
	return []string{"user", "assistant", "system", "tool_result", "note"}
}

// Refuse implements Refuser.
func (MessageKind) Refuse(word string) error {
	_, err := history.ParseWritable(word)
	return err
}

// AppendInput is a message.
type AppendInput struct {
	Agent AgentRef    `json:"agent" arg:"AGENT" help:"the agent whose history gets the message"`
	Text  Text        `json:"text" arg:"TEXT" help:"the message"`
	Kind  MessageKind `json:"kind,omitempty" default:"user" help:"user, assistant, system, tool_result or note"`
}

// Append writes one message without a model.
var Append = Op[AppendInput, public.Written]{
	Doc: Doc{Name: "append", Group: "history", Faces: CLI, Summary: "Append one message without a model; print its id",
		Help: `Append one message to an agent's history, without calling a model, and print its id. When the
id is printed, the message is on disk. TEXT - reads standard input.`},
	Run: func(ctx context.Context, e *Env, in AppendInput) (public.Written, error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return public.Written{}, err
		}
		written, err := e.Workspace.History().Append(ctx, a, history.Kind(in.Kind), string(in.Text))
		return public.FormatWritten(written), err
	},
}
