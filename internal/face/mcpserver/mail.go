package mcpserver

import (
	"context"
	"encoding/json"
	"strconv"

	"ramet/internal/base/shape"
	"ramet/internal/operation/public"
)

// LetterList is what mail answers.
type LetterList struct {
	Letters []public.Letter `json:"letters"`
}

func mailTool() tool {
	return tool{name: "mail", about: "List a mailbox, unread letters first; marks nothing.", reads: true,
		args: shape.Object(
			shape.May("agent", ref("whose; your own, if you are an agent, else that of 0")),
			shape.May("unread", shape.Bool().With("only letters that wait"))),
		answers: []any{LetterList{}},
		run: func(ctx context.Context, s *Server, c Caller, args json.RawMessage) (json.RawMessage, error) {
			a, err := decode[struct {
				Agent  string
				Unread bool
			}](args)
			if err != nil {
				return nil, err
			}
			if a.Agent == "" {
				a.Agent = box(c)
			}
			line := command{words: []string{"mail"}, rest: []string{a.Agent}}
			line.yes("unread", a.Unread)
			return s.ask(ctx, line)
		}}
}

// LetterRead is what read answers.
type LetterRead struct {
	Letter *public.Letter `json:"letter"`
}

func readTool() tool {
	return tool{name: "read", about: "Read a letter and mark it as read: the one with this number, or the oldest that waits.",
		args: shape.Object(
			shape.May("agent", ref("whose mailbox; your own, if you are an agent, else that of 0")),
			shape.May("number", shape.Integer(1)),
			shape.May("peek", shape.Bool().With("mark nothing"))),
		answers: []any{LetterRead{}},
		run: func(ctx context.Context, s *Server, c Caller, args json.RawMessage) (json.RawMessage, error) {
			a, err := decode[struct {
				Agent  string
				Number int64
				Peek   bool
			}](args)
			if err != nil {
				return nil, err
			}
			if a.Agent == "" {
				a.Agent = box(c)
			}
			line := command{words: []string{"read"}, rest: []string{a.Agent}}
			if a.Number > 0 {
				line.rest = append(line.rest, strconv.FormatInt(a.Number, 10))
			}
			line.yes("peek", a.Peek)
			return s.ask(ctx, line)
		}}
}
